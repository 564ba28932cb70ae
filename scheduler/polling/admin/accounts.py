"""Carrier accounts: the list, the page of one, and its form."""

from functools import partial
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from project.kit.admin import (
    BulkActionsMixin,
    Done,
    EditedApartMixin,
    ObjectAction,
    ReasonForm,
    UncountedList,
    badge,
    seen_at,
)
from project.kit.admin.object_actions import Refused
from project.kit.clock import database_now
from project.kit.versions import StaleVersion
from quotas.ratelimit import LimiterError
from scheduler.polling import accounts
from scheduler.polling.admin import account_page, cells, live, schemas
from scheduler.polling.admin.account_actions import ACCOUNT_ACTIONS, REBUILD
from scheduler.polling.admin.account_form import FIELDSETS, AccountForm
from scheduler.polling.admin.filters import AccountQuestionFilter
from scheduler.polling.admin.live import Live
from scheduler.polling.carriers.registry import KINDS
from scheduler.polling.fleet import following
from scheduler.polling.models import CarrierAccount

REFRESH_SECONDS = 5


class AccountList(UncountedList):
    """The list of accounts, with what is in order of each."""

    def get_results(self, request: HttpRequest) -> None:
        """Read the page's rows, and ask Redis about all of them at once."""
        super().get_results(request)
        known = live.of_accounts([account.pk for account in self.result_list])
        for account in self.result_list:
            vars(account)["live"] = known[account.pk]


@admin.register(CarrierAccount)
class CarrierAccountAdmin(BulkActionsMixin, EditedApartMixin):
    """The accounts."""

    list_display = ("name", "standing", "way", "in_order", "due", "in_work", "paced", "most_in_work", "held")
    list_filter = (AccountQuestionFilter,)
    search_fields = ("name",)
    search_help_text = gettext_lazy("name")
    ordering = ("name",)
    sortable_by = ("name",)
    form = AccountForm
    fieldsets = FIELDSETS
    change_form_template = "admin/polling/carrieraccount/change_form.html"
    page_template = "admin/object_page.html"
    fragment_template = "admin/polling/carrieraccount/page.html"
    object_actions = ACCOUNT_ACTIONS
    refusals = (StaleVersion,)

    # --- the list ----------------------------------------------------------------------------------------------

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return the list's class."""
        return AccountList

    def get_queryset(self, request: HttpRequest) -> QuerySet[CarrierAccount]:
        """Return the accounts with their parameters."""
        rows: QuerySet[CarrierAccount] = super().get_queryset(request).select_related("params")
        return rows

    def for_list(self, rows: QuerySet[CarrierAccount]) -> QuerySet[CarrierAccount]:
        """Return the rows without what the list does not show, and without their secrets."""
        return rows.defer("settings", "credentials")

    @admin.display(description=gettext_lazy("state"))
    def standing(self, account: CarrierAccount) -> SafeString:
        """How it is doing."""
        return cells.account_badge(account, _live(account), seen_at(account))

    @admin.display(description=gettext_lazy("gateway"))
    def way(self, account: CarrierAccount) -> str:
        """How the carrier is spoken to."""
        return account_page.gateway_label(account.gateway)

    @admin.display(description=gettext_lazy("cards"))
    def in_order(self, account: CarrierAccount) -> SafeString:
        """How many cards are in order; while it is rebuilt how far that is."""
        known = _live(account)
        if known.progress is not None and known.progress.under_way:
            return cells.rebuild_bar(known.progress)
        return cells.named(_("cards"), cells.number(known.counts.cards if known.counts else None))

    @admin.display(description=gettext_lazy("due"))
    def due(self, account: CarrierAccount) -> SafeString:
        """How many of them wait for their turn."""
        counts = _live(account).counts
        return cells.named(_("due"), cells.number(counts.due if counts else None))

    @admin.display(description=gettext_lazy("in work"))
    def in_work(self, account: CarrierAccount) -> SafeString:
        """How many are claimed."""
        counts = _live(account).counts
        return cells.named(_("in work"), cells.number(counts.running if counts else None))

    @admin.display(description=gettext_lazy("rate"))
    def paced(self, account: CarrierAccount) -> str | SafeString:
        """How often the carrier is asked at most."""
        try:
            return cells.rate(accounts.params_of(account).rate_windows)
        except LimiterError as error:
            return badge(_("wrong"), "red", str(error))

    @admin.display(description=gettext_lazy("at most in work"))
    def most_in_work(self, account: CarrierAccount) -> SafeString:
        """How many cards may be claimed at once."""
        try:
            return cells.named(_("at most"), cells.number(accounts.params_of(account).inflight_limit))
        except LimiterError:
            return cells.number(None)

    @admin.display(description=pgettext_lazy("account", "held"))
    def held(self, account: CarrierAccount) -> SafeString:
        """Until when it is left in peace, and why."""
        return cells.held(account, seen_at(account))

    # --- the page ----------------------------------------------------------------------------------------------

    def page_context(self, request: HttpRequest, row: CarrierAccount) -> dict[str, Any]:
        """Return what the page shows of an account."""
        known = live.of_accounts([row.pk])[row.pk]
        return {
            "account": row,
            "actions": [*self.offered_actions(request, row), *self.edit_links(request, row)],
            "edit_params": self._params_url(request, row),
            "refresh_seconds": REFRESH_SECONDS,
            **account_page.overview(row, known, seen_at(row)),
        }

    def _params_url(self, request: HttpRequest, row: CarrierAccount) -> str:
        """Return where the parameters are edited; empty for somebody who may not."""
        allowed = request.user.has_perm("polling.change_pollingparams")
        return reverse("admin:polling_pollingparams_change", args=[row.pk]) if allowed else ""

    # --- who may -----------------------------------------------------------------------------------------------

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Say that nobody may do so here: it is an action, which the domain performs."""
        return False

    # --- the form ----------------------------------------------------------------------------------------------

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show the form, with what each gateway takes below it."""
        chosen = context["adminform"].form["gateway"].value() or next(iter(KINDS))
        context["gateways"] = [
            {
                "name": kind.name,
                "label": kind.label,
                "open": kind.name == chosen,
                "settings": schemas.sheets(_("Settings"), kind.settings),
                "credentials": schemas.sheets(_("Credentials"), kind.credentials),
            }
            for kind in KINDS.values()
        ]
        return super().render_change_form(request, context, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: CarrierAccount, form: AccountForm, change: bool) -> None:
        """Save through the domain, which ends a hold where the account is reached otherwise now."""
        form.store(obj, now=database_now())

    # --- the actions -------------------------------------------------------------------------------------------

    def seen(self, row: CarrierAccount) -> str:
        """Return what a confirmation is bound to: the account, its hold and its parameters."""
        params = getattr(row, "params", None)
        return f"{row.version}:{row.held_until and row.held_until.isoformat()}:{params.version if params else 0}"

    def perform(self, request: HttpRequest, action: ObjectAction, pk: Any, seen: str, form: ReasonForm) -> Done:
        """Perform the action. The order is forgotten after the commit; the dispatcher notices, and has it rebuilt."""
        if action is not REBUILD:
            return super().perform(request, action, pk, seen, form)
        progress = live.of_accounts([pk])[pk].progress
        if progress is not None and progress.under_way:
            raise Refused(_("It is being rebuilt just now, as %(by)s wanted.") % {"by": progress.by})
        done = super().perform(request, action, pk, seen, form)
        transaction.on_commit(partial(following.forget_at_once, pk))
        return done

    def locked(self, request: HttpRequest, pk: Any) -> CarrierAccount | None:
        """Return the account as it is now, locked; its parameters come and go under the same lock."""
        rows = self.get_queryset(request).select_for_update(of=("self",), no_key=True)
        return rows.filter(pk=pk).first()


def _live(account: CarrierAccount) -> Live:
    known: Live = vars(account)["live"]
    return known
