"""What a carrier account's page shows: how it is doing, what is in order, what it bears, how it is reached."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from alerts.models import Alert
from project.kit.admin import absolute, badge, pretty_json, relative, row_link, span, when
from project.kit.secrets import UnreadableSecret
from quotas.ratelimit import LimiterError
from scheduler.polling import accounts, failures, holding
from scheduler.polling.admin import cells
from scheduler.polling.admin.live import Live
from scheduler.polling.carriers.registry import KINDS
from scheduler.polling.models import CardCheck, CarrierAccount, PollingParams
from scheduler.polling.params import DEFAULTS, Params

FAILING_SHOWN = 10
SECONDS = frozenset({"stop_resume_min_interval", "stop_resume_confirm_delay"})


def overview(account: CarrierAccount, live: Live, now: datetime) -> dict[str, Any]:
    """Return what the page shows of the account."""
    return {
        "badge": cells.account_badge(account, live, now),
        "next_step": _next_step(account, live, now),
        "live_facts": _live_facts(account, live),
        "rebuild": _rebuild(live, now),
        "parameters": _parameters(account),
        "params_said": _params_said(account, now),
        "facts": _facts(account, now),
        "settings_text": pretty_json(account.settings),
        "failing": [_failing_line(check, now) for check in _failing(account)],
        "alerts": alert_lines([holding.fingerprint(account.pk), failures.storm_fingerprint(account.pk)], now),
    }


def alert_lines(fingerprints: Iterable[str], now: datetime) -> list[dict[str, Any]]:
    """Return the lines of a table of those alerts that are not over."""
    found = Alert.objects.filter(fingerprint__in=list(fingerprints), resolved_at__isnull=True).order_by("-last_at")
    return [
        {
            "alert": row_link(alert),
            "state": alert.get_state_display(),
            "since": when(alert.first_at, now),
            "sentence": alert.sentence,
        }
        for alert in found
    ]


# --- how it is doing -------------------------------------------------------------------------------------------


def _next_step(account: CarrierAccount, live: Live, now: datetime) -> str:
    """Return what happens next, or is expected of a person, as a sentence; empty where all goes on."""
    if not account.active:
        return _("It is off: none of its cards is polled.")
    if cells.is_held(account, now) and account.held_until is not None:
        said = _("%(reason)s It is asked again %(when)s, at %(instant)s.")
        reason = account.held_reason if account.held_reason.endswith((".", "!", "?")) else f"{account.held_reason}."
        return said % {
            "reason": reason,
            "when": relative(account.held_until, now),
            "instant": absolute(account.held_until),
        }
    if live.counts is None:
        return _("Redis does not answer: nothing is polled until it is back, and what is in order is not known.")
    if not live.counts.epoch:
        return _("Nothing is claimed until all of its cards are in order. The dispatcher has it built.")
    return ""


def _live_facts(account: CarrierAccount, live: Live) -> list[tuple[str, Any]]:
    """Return what is in order, as labels and values."""
    counts = live.counts
    if counts is None:
        return []
    return [
        (_("cards in order"), _cards_link(account, counts.cards)),
        (_("due"), cells.number(counts.due)),
        (_("in work"), cells.number(counts.running)),
        (pgettext("checks", "asked for"), cells.number(counts.asked)),
        (_("finished"), cells.number(counts.finished)),
        (_("given back"), cells.number(counts.released)),
        (_("leases expired"), cells.number(counts.lease_expired)),
        (_("finished too late"), cells.number(counts.stale_finish)),
    ]


def _cards_link(account: CarrierAccount, count: int) -> SafeString:
    address = f"{reverse('admin:polling_card_changelist')}?account={account.pk}"
    return format_html('<a href="{}">{}</a>', address, f"{count:,}")


def _rebuild(live: Live, now: datetime) -> dict[str, Any] | None:
    """Return how far the latest rebuild is; None: there was none lately."""
    progress = live.progress
    if progress is None:
        return None
    standing = badge(_("done"), "green")
    if progress.ended_at is None:
        standing = badge(_("under way"), "blue") if progress.under_way else badge(_("interrupted"), "amber")
    return {
        "badge": standing,
        "bar": cells.rebuild_bar(progress),
        "by": progress.by,
        "began": when(progress.began_at, now),
        "took": span(progress.ended_at - progress.began_at) if progress.ended_at else "",
    }


# --- what it bears ---------------------------------------------------------------------------------------------


def _parameters(account: CarrierAccount) -> list[dict[str, Any]]:
    """Return the lines of the parameters that hold, with those that nobody has set marked."""
    try:
        held = accounts.params_of(account)
    except LimiterError as error:
        return [{"label": _("rate windows"), "value": str(error), "mark": badge(_("wrong"), "red"), "help": ""}]
    first = ("rate_windows", "max_concurrency")
    return [_parameter_line(name, held) for name in (*first, *(name for name in DEFAULTS if name not in first))]


def _parameter_line(name: str, held: Params) -> dict[str, Any]:
    field: Any = PollingParams._meta.get_field(name)
    usual = name in held.defaults
    return {
        "label": field.verbose_name,
        "value": _parameter_text(name, getattr(held, name)),
        "mark": badge(_("default"), "grey") if usual else badge(_("set"), "blue"),
        "help": "" if name in SECONDS or name == "rate_windows" else field.help_text,
    }


def _parameter_text(name: str, value: Any) -> str | SafeString:
    if name == "rate_windows":
        return cells.rate(value)
    if name in SECONDS:
        return cells.each(value)
    if name == "queue":
        return format_html("<code>{}</code>", value)
    if value is None:
        return _("unlimited")
    return f"{value:,}" if isinstance(value, int) else f"{value:.0%}"


def _params_said(account: CarrierAccount, now: datetime) -> str:
    """Return who set the parameters and when, as a sentence."""
    said: PollingParams | None = getattr(account, "params", None)
    if said is None:
        return _("Nobody has set any.")
    return _("set by %(who)s, %(when)s") % {"who": said.changed_by or "–", "when": relative(said.changed_at, now)}


# --- how it is reached -----------------------------------------------------------------------------------------


def _facts(account: CarrierAccount, now: datetime) -> list[tuple[str, Any]]:
    """Return how the carrier is reached, as labels and values; of the credentials only which there are."""
    return [
        (_("gateway"), gateway_label(account.gateway)),
        (_("credentials"), stored_credentials(account)),
        (_("holds in a row"), cells.number(account.hold_count)),
        (_("created"), when(account.created_at, now)),
        (_("changed"), when(account.updated_at, now)),
    ]


def gateway_label(name: str) -> str:
    """Return a gateway's name as people know it."""
    return KINDS[name].label if name in KINDS else name


def stored_credentials(account: CarrierAccount) -> str:
    """Return the names of the credentials that are stored, never what they are."""
    try:
        text = account.credentials.reveal()
    except UnreadableSecret as error:
        return str(error)
    values = json.loads(text) if text else {}
    names = [name for name, value in values.items() if value]
    return _("stored: %(names)s") % {"names": ", ".join(names)} if names else _("none stored")


# --- what fails ------------------------------------------------------------------------------------------------


def _failing(account: CarrierAccount) -> Iterable[CardCheck]:
    failing = CardCheck.objects.filter(card__account=account, failures__gt=0).select_related("card")
    return failing.order_by("-last_failed_at")[:FAILING_SHOWN]


def _failing_line(check: CardCheck, now: datetime) -> dict[str, Any]:
    return {
        "card": row_link(check.card),
        "check": check.get_type_display(),
        "badge": cells.check_badge(check, now),
        "error": cells.error(check),
        "since": when(check.first_failed_at, now),
        "due": when(check.due_at, now),
    }
