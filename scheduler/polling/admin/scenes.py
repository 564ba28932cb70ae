"""Scenes: what is asked beside the schedule when something happens to cards, or somebody looks at them."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import VersionLockMixin, badge
from project.kit.clock import database_now
from scheduler.polling import scenes
from scheduler.polling.admin import cells
from scheduler.polling.admin.boxes import BoxesForm, ChoicesField
from scheduler.polling.models import CheckScene
from scheduler.polling.states import CheckType


class SceneForm(BoxesForm):
    """A scene; its code and kind stay, for events name it."""

    types = ChoicesField(label=gettext_lazy("Checks"), choices=CheckType.choices, required=True)

    class Meta:
        model = CheckScene
        fields = scenes.FIELDS

    def store(self, *, actor: str) -> None:
        """Write what was typed over the version that the form was opened with."""
        scenes.change(
            self.instance.pk,
            {name: getattr(self.instance, name) for name in scenes.FIELDS},
            actor=actor,
            now=database_now(),
            expected_version=self.cleaned_data["expected_version"],
        )

    def _post_clean(self) -> None:
        """Let the domain look at what was typed; the row is locked by now."""
        super()._post_clean()
        if self.errors:
            return
        try:
            scenes.check(self.instance)
        except ValidationError as refusal:
            self.add_error(None, refusal)


@admin.register(CheckScene)
class CheckSceneAdmin(VersionLockMixin):
    """The scenes."""

    list_display = ("name", "code", "kind", "standing", "checks", "looks", "cooldown")
    ordering = ("kind", "name")
    sortable_by = ()
    form = SceneForm
    fieldsets = (
        (None, {"fields": ("name", "active")}),
        (gettext_lazy("What is asked"), {"fields": ("types", "confirm_delays", "cooldown_seconds")}),
    )

    @admin.display(description=gettext_lazy("state"))
    def standing(self, scene: CheckScene) -> SafeString:
        """Whether it asks for anything."""
        return badge(_("on"), "green") if scene.active else badge(_("off"), "grey", _("It asks for nothing."))

    @admin.display(description=gettext_lazy("checks"))
    def checks(self, scene: CheckScene) -> str:
        """Which checks it asks for."""
        return ", ".join(str(CheckType(check).label) for check in scene.types)

    @admin.display(description=gettext_lazy("looks again after"))
    def looks(self, scene: CheckScene) -> SafeString:
        """After which pauses it looks again."""
        return cells.named(_("looks again after"), ", ".join(_seconds(pause) for pause in scene.confirm_delays))

    @admin.display(description=gettext_lazy("cooldown"))
    def cooldown(self, scene: CheckScene) -> SafeString:
        """For how long it asks for the same card once."""
        return cells.named(_("cooldown"), _seconds(scene.cooldown_seconds) if scene.cooldown_seconds else "")

    def save_model(self, request: HttpRequest, obj: CheckScene, form: SceneForm, change: bool) -> None:
        """Save through the domain, which raises the version."""
        form.store(actor=request.user.get_username())

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Say that nobody may: events name scenes by their codes."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Say that nobody may: it can be switched off."""
        return False


def _seconds(count: int) -> str:
    return _("%(count)s s") % {"count": f"{count:,}"}
