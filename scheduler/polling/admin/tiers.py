"""Tiers: which cards are checked how often; in their order, for the first that matches a card counts."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.validators import ProhibitNullCharactersValidator
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from project.kit.admin import EditedApartMixin
from project.kit.versions import StaleVersion
from scheduler.polling import defining
from scheduler.polling.admin import cells, tier_preview
from scheduler.polling.admin.boxes import BoxesForm, ChoicesField
from scheduler.polling.admin.tier_actions import TIER_ACTIONS
from scheduler.polling.models import PollingTier
from scheduler.polling.states import CardState, CheckType, RealName

# Between two tiers there is room for others.
STEP = 10

FIELDSETS: Any = (
    (gettext_lazy("What"), {"fields": ("name", "position")}),
    (
        gettext_lazy("Which cards"),
        {
            "fields": ("states", "real_name_states", "packages", "usage_from_percent", "usage_below_percent"),
            "description": gettext_lazy("All conditions have to hold; an empty one holds for every card."),
        },
    ),
    (
        gettext_lazy("How often they are checked"),
        {
            "fields": tuple(f"{check}_seconds" for check in CheckType),
            "description": gettext_lazy(
                "Seconds between two checks; empty: that is not checked. Usage is checked shortly before a card's reset"
                " day besides, wherever the interval falls."
            ),
        },
    ),
)


class PackagesField(forms.CharField):
    """Names of packages, one a line."""

    widget = forms.Textarea(attrs={"rows": 3, "cols": 40, "spellcheck": "false"})

    def prepare_value(self, value: Any) -> Any:
        """Return the names, one a line."""
        return "\n".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> Any:
        """Return the names, none with a character that cannot be kept."""
        ProhibitNullCharactersValidator()(value or "")
        return super().clean(value)

    def to_python(self, value: Any) -> Any:
        """Return the names as a list, each once."""
        return list(dict.fromkeys(filter(None, (line.strip() for line in (value or "").splitlines()))))

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Tell whether other names are typed."""
        return bool((initial or []) != self.to_python(data))


class TierForm(BoxesForm):
    """A tier."""

    states = ChoicesField(label=gettext_lazy("States"), choices=CardState.choices)
    real_name_states = ChoicesField(label=gettext_lazy("Real names"), choices=RealName.choices)
    packages = PackagesField(label=gettext_lazy("Packages"), required=False, help_text=gettext_lazy("One a line."))

    class Meta:
        model = PollingTier
        fields = defining.TIER_FIELDS
        help_texts = {"position": gettext_lazy("The smallest comes first. Each position is taken once.")}

    def store(self, tier: PollingTier) -> None:
        """Write a tier that holds what was typed, as new or over the version that the form was opened with."""
        if tier.pk is None:
            defining.save_new_tier(tier)
        else:
            defining.save_tier(tier, expected_version=self.cleaned_data["expected_version"])

    def _get_validation_exclusions(self) -> set[str]:
        """Leave the constraints on the intervals to the domain, whose sentences name the fields."""
        return {*super()._get_validation_exclusions(), *(f"{check}_seconds" for check in CheckType)}  # type: ignore[misc]

    def _post_clean(self) -> None:
        """Let the domain look at what was typed; the row is locked by now, if there is one."""
        super()._post_clean()
        try:
            defining.check_tier(self.instance)
        except ValidationError as refusal:
            self.add_refusals(refusal)


@admin.register(PollingTier)
class PollingTierAdmin(EditedApartMixin):
    """The tiers."""

    list_display = ("position", "name", "which", *(f"{check}_each" for check in CheckType))
    list_display_links = ("name",)
    ordering = ("position",)
    sortable_by = ()
    form = TierForm
    fieldsets = FIELDSETS
    change_list_template = "admin/polling/pollingtier/change_list.html"
    change_form_template = "admin/polling/pollingtier/change_form.html"
    page_template = "admin/object_page.html"
    fragment_template = "admin/polling/pollingtier/page.html"
    object_actions = TIER_ACTIONS
    refusals = (StaleVersion,)

    # --- the list ----------------------------------------------------------------------------------------------

    @admin.display(description=gettext_lazy("for which cards"))
    def which(self, tier: PollingTier) -> str:
        """Which cards it is for, if no tier before it is."""
        return cells.conditions(tier)

    @admin.display(description=CheckType.REAL_NAME.label)
    def real_name_each(self, tier: PollingTier) -> SafeString:
        """How often the real name is checked."""
        return cells.named(CheckType.REAL_NAME.label, cells.each(tier.real_name_seconds))

    @admin.display(description=CheckType.USAGE.label)
    def usage_each(self, tier: PollingTier) -> SafeString:
        """How often usage is checked."""
        return cells.named(CheckType.USAGE.label, cells.each(tier.usage_seconds))

    @admin.display(description=CheckType.CARD_STATUS.label)
    def card_status_each(self, tier: PollingTier) -> SafeString:
        """How often the status is checked."""
        return cells.named(CheckType.CARD_STATUS.label, cells.each(tier.card_status_seconds))

    @admin.display(description=CheckType.PACKAGE.label)
    def package_each(self, tier: PollingTier) -> SafeString:
        """How often the package is checked."""
        return cells.named(CheckType.PACKAGE.label, cells.each(tier.package_seconds))

    # --- the page ----------------------------------------------------------------------------------------------

    def page_context(self, request: HttpRequest, row: PollingTier) -> dict[str, Any]:
        """Return what the page shows of a tier."""
        return {
            "tier": row,
            "actions": [*self.offered_actions(request, row), *self.edit_links(request, row)],
            "conditions": cells.conditions(row),
            "facts": [(check.label, cells.each(getattr(row, f"{check}_seconds"))) for check in CheckType],
            "preview_url": reverse(f"admin:{self._url_name('preview')}"),
        }

    # --- how many cards each matches ---------------------------------------------------------------------------

    def get_urls(self) -> list[URLPattern]:
        """Return the admin's addresses, with that of the preview before Django's catch-all."""
        preview = self.admin_site.admin_view(self.preview_view)
        return [path("preview/", preview, name=self._url_name("preview")), *super().get_urls()]

    @method_decorator(require_safe)
    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """Count how many cards each tier matches; that reads all polled cards, so only who asks for it waits."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "title": _("Cards of each tier"),
            "opts": self.opts,
            "back": reverse(f"admin:{self._url_name('changelist')}"),
            **tier_preview.counted(),
        }
        return TemplateResponse(request, "admin/polling/pollingtier/preview.html", context)

    # --- the form ----------------------------------------------------------------------------------------------

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Return a tier behind all others."""
        last = PollingTier.objects.order_by("-position").values_list("position", flat=True).first()
        return {"position": (last or 0) + STEP, **super().get_changeform_initial_data(request)}

    def save_model(self, request: HttpRequest, obj: PollingTier, form: TierForm, change: bool) -> None:
        """Save through the domain, which raises the version and lets the cards follow."""
        form.store(obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Say that nobody may do so here: it is an action, which the domain performs."""
        return False
