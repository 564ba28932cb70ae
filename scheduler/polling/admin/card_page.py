"""What a card's page shows: whether it is polled and why, what its checks brought, what changed, what is wrong."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from project.kit.admin import DASH, row_link, when
from scheduler.polling import failures
from scheduler.polling.admin import cells, operation_cells
from scheduler.polling.admin.account_page import alert_lines
from scheduler.polling.explaining import explain
from scheduler.polling.models import Card, CardChange, CardCheck, Confirmation
from scheduler.polling.operations import alerting
from scheduler.polling.states import CardState, CheckType, ConfirmationState, RealName

CHANGES_SHOWN = 20
OTHERS_SHOWN = 20
LOOKS_SHOWN = 20
_WORDS: dict[str, Any] = {"state": CardState, "real_name_state": RealName}


def overview(card: Card, now: datetime) -> dict[str, Any]:
    """Return what the page shows of the card."""
    checks = list(CardCheck.objects.filter(card=card).order_by("type"))
    return {
        "badges": _badges(card, checks),
        "why": explain(card, now=now),
        "usage": cells.usage(card),
        "facts": _facts(card, now),
        "operations": operation_cells.lines_of(card, now),
        "looks": [_look_line(looked, now) for looked in _waiting_looks(card)],
        "checks": [_check_line(check, now) for check in sorted(checks, key=_place)],
        "changes": [_change_line(change, now) for change in _latest_changes(card)],
        "alerts": alert_lines(_fingerprints(card), now),
        "others": [_other_line(other) for other in _others_in_device(card)],
    }


def _fingerprints(card: Card) -> list[str]:
    of_checks = [failures.fingerprint(card.pk, check) for check in CheckType]
    return [*of_checks, alerting.fingerprint(card.pk)]


def _badges(card: Card, checks: Sequence[CardCheck]) -> SafeString:
    state, real_name = cells.state_badge(card.state), cells.real_name_badge(card.real_name_state)
    fails = cells.failing_badge(checks)
    said = format_html('{} <span class="quiet">{}</span> {}', state, _("real name"), real_name)
    return format_html('{} <span class="quiet">{}</span> {}', said, _("fails"), fails) if fails else said


def _facts(card: Card, now: datetime) -> list[tuple[str, Any]]:
    """Return what is known of the card, as labels and values; what is not known is left out."""
    facts: list[tuple[str, Any]] = [
        (_("account"), row_link(card.account)),
        (_("polled"), cells.polled_badge(card)),
        (_("device"), row_link(card.device) if card.device else ""),
        ("MSISDN", card.msisdn),
        ("IMSI", card.imsi),
        (_("package"), card.package),
        (_("reset day"), card.reset_day),
        (_("added"), when(card.created_at, now)),
        (_("changed by hand"), when(card.updated_at, now) if card.version > 1 else ""),
    ]
    return [fact for fact in facts if fact[1]]


# --- its checks ------------------------------------------------------------------------------------------------


def _place(check: CardCheck) -> int:
    return CheckType.values.index(check.type)


def _check_line(check: CardCheck, now: datetime) -> dict[str, Any]:
    return {
        "type": check.get_type_display(),
        "badge": cells.check_badge(check, now),
        "value": cells.value(check),
        "as_of": when(check.as_of or check.succeeded_at, now),
        "asked": when(check.checked_at, now),
        "due": when(check.due_at, now),
        "since": when(check.first_failed_at, now) if check.failures else "",
        "error": cells.error(check),
        "failing": bool(check.failures),
    }


# --- what is expected of it ------------------------------------------------------------------------------------


def _waiting_looks(card: Card) -> Iterable[Confirmation]:
    waiting = Confirmation.objects.filter(card=card, state=ConfirmationState.WAITING)
    shown = waiting.select_related("request", "operation").defer("request__card_ids", "request__expected")
    return shown.order_by("due_at", "pk")[:LOOKS_SHOWN]


def _look_line(looked: Confirmation, now: datetime) -> dict[str, Any]:
    return {
        "type": looked.get_type_display(),
        "expected": DASH if looked.expected is None else looked.expected,
        "taken": looked.looks,
        "next": when(looked.due_at, now),
        "follows": row_link(looked.operation) if looked.operation else str(looked.request),
    }


# --- what changed ----------------------------------------------------------------------------------------------


def _latest_changes(card: Card) -> Iterable[CardChange]:
    return CardChange.objects.filter(card=card).order_by("-id")[:CHANGES_SHOWN]


def _change_line(change: CardChange, now: datetime) -> dict[str, Any]:
    return {
        "at": when(change.at, now),
        "field": field_label(change.field),
        "change": changed(change),
    }


def field_label(name: str) -> str:
    """Return the name of a card's value as people know it."""
    known = {field.name: str(field.verbose_name) for field in Card._meta.fields}
    return known.get(name, name)


def changed(change: CardChange) -> SafeString:
    """Return what a value was and what it became; words of ours by their names."""
    before, after = _side(change.field, change.before), _side(change.field, change.after)
    return format_html('<span class="quiet">{} →</span> {}', before, after)


def _side(field: str, text: str) -> SafeString:
    if not text:
        return DASH
    if field in _WORDS and text in _WORDS[field].values:
        return format_html("{}", _WORDS[field](text).label)
    if field.endswith("_bytes") and text.isdecimal():
        return format_html("{}", cells.volume(int(text)))
    return format_html("{}", text)


# --- its neighbours --------------------------------------------------------------------------------------------


def _others_in_device(card: Card) -> Iterable[Card]:
    if card.device_id is None:
        return []
    others = Card.objects.filter(device=card.device_id).exclude(pk=card.pk).select_related("account")
    return others.order_by("pk")[:OTHERS_SHOWN]


def _other_line(card: Card) -> dict[str, Any]:
    return {
        "card": row_link(card),
        "account": row_link(card.account),
        "state": cells.state_badge(card.state),
        "polled": cells.polled_badge(card),
    }
