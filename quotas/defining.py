"""Quotas come and change. Every way to write a quota's rule leads through here: form, command, API, try-out."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from project.kit.secrets import UnreadableSecret
from project.kit.versions import StaleVersion, column_value
from quotas import charging
from quotas.amounts import check_limit
from quotas.books import Books, open_books_of_all
from quotas.models import LedgerEntry, Quota
from quotas.periods import Preset, RuleError, check_rule, period_at
from quotas.provider.probes import ProbeSpec, check_probe
from quotas.purchases import purchase
from quotas.refusals import BadAmount
from quotas.states import Cause, EntryKind, Kind

# When it resets. A change of these ends the present period at the next reset by the new rule.
RESET_FIELDS = ("reset_preset", "reset_time", "reset_weekday", "reset_day", "reset_cron", "timezone")
# What a person may change. The kind and the key stay: what was charged under them would mean something else.
EDITABLE_FIELDS = (
    "title",
    "description",
    "limit",
    "unit",
    "parent",
    *RESET_FIELDS,
    "refill_amount",
    "refill_seconds",
    "default_step",
    "resume_threshold",
    "stable_seconds",
    "stable_after_reset_seconds",
    "spread_seconds",
    "patience_seconds",
    "shadow",
    "probe_url",
    "probe_headers",
    "probe_remaining",
    "probe_limit",
    "probe_reset",
    "poll_floor_seconds",
    "poll_ceiling_seconds",
)


def create(*, key: str, kind: Kind, now: datetime, actor: str = "", **fields: Any) -> Quota:
    """Create a quota of which nothing is used.

    Args:
        fields: further fields of the model; among them `limit`, and the rule of the kind.

    Raises:
        ValidationError: a field is wrong; each message says which and what would be right.
    """
    quota = Quota(key=key, kind=kind, **fields)
    save_new(quota, now=now, actor=actor)
    return quota


def save_new(quota: Quota, *, now: datetime, actor: str = "") -> None:
    """Insert a filled-in quota, with the ledger entry of its limit.

    Raises:
        ValidationError: as `create`.
    """
    check(quota)
    quota.created_at = quota.updated_at = quota.verdict_at = now
    _set_clock(quota, now)
    limit = quota.limit
    with transaction.atomic():
        # The parent is locked, so that nobody gives it another one before it has this child.
        parents = [] if quota.parent_id is None else [quota.parent_id]
        quota.ancestors = _chain_of(quota.parent_id, open_books_of_all(parents, now))
        quota.full_clean(validate_constraints=False)
        quota.limit = None  # until its entry is written
        quota.save(force_insert=True)
        books = open_books_of_all([quota.pk], now)
        charging.change_limit(books, books.quotas[quota.pk], limit, purchase(None, actor=actor))
        books.save(Cause.LIMIT_CHANGE)
    quota.refresh_from_db()


def save_changes(
    quota: Quota, *, expected_version: int, now: datetime, actor: str = "", fields: Iterable[str] = EDITABLE_FIELDS
) -> list[str]:
    """Write what really changed and return the names of those fields; a whole form posted back changes nothing.

    Another limit counts at once. Another rule of reset keeps what was used so far until its own next reset.

    Args:
        fields: those of EDITABLE_FIELDS that are written; the others stay as they are by now.

    Raises:
        StaleVersion: it was saved by somebody else since `expected_version`.
        ValidationError: as `create`.
    """
    with transaction.atomic():
        # The new parent is locked as well, so that nobody gives it another one while it gets this child.
        books = open_books_of_all({quota.pk, quota.parent_id or quota.pk}, now)
        current = books.quotas[quota.pk]
        if current.version != expected_version:
            raise StaleVersion(current)
        check(quota, current)
        changed = [name for name in fields if column_value(quota, name) != column_value(current, name)]
        if changed:
            _take_over(books, current, quota, changed, actor)
    return changed


def check(quota: Quota, current: Quota | None = None) -> None:
    """Refuse what cannot work.

    Args:
        current: the row as it is, of a quota that is there already.

    Raises:
        ValidationError: naming the fields.
    """
    faults = {**_limit_faults(quota), **_rule_faults(quota), **_probe_faults(quota)}
    if current is not None:
        faults |= _change_faults(quota, current)
    if faults:
        raise ValidationError(faults)


# --- faults ----------------------------------------------------------------------------------------------------


def _limit_faults(quota: Quota) -> dict[str, str]:
    if quota.limit is None and quota.kind == Kind.RATE:
        return {"limit": _("A rate needs a limit: how many units may be spent at once after a pause.")}
    try:
        check_limit(quota.limit)
    except BadAmount as error:
        return {"limit": str(error)}
    return {}


def _rule_faults(quota: Quota) -> dict[str, str]:
    if quota.kind == Kind.RATE and not (quota.refill_amount and quota.refill_seconds):
        sentence = _("A rate needs both: how many units come back, and in how many seconds.")
        return {"refill_seconds" if quota.refill_amount else "refill_amount": sentence}
    if quota.kind != Kind.PERIODIC:
        return {}
    if quota.reset_preset not in Preset.values:
        return {
            "reset_preset": _("A periodic quota needs to know when it resets: one of %(values)s.")
            % {"values": ", ".join(Preset.values)}
        }
    try:
        check_rule(quota.reset_rule())
    except RuleError as error:
        field = {"preset": "reset_preset", "at": "reset_time"}.get(error.field, f"reset_{error.field}")
        return {"timezone" if error.field == "timezone" else field: error.sentence}
    return {}


def _probe_faults(quota: Quota) -> dict[str, str]:
    if not quota.probe_url:
        return {}
    try:
        headers = quota.revealed_headers()
    except UnreadableSecret as unreadable:
        return {"probe_headers": str(unreadable)}
    spec = ProbeSpec(quota.probe_url, headers, quota.probe_remaining, quota.probe_limit, quota.probe_reset)
    return {f"probe_{name}": sentence for name, sentence in check_probe(spec).items()}


def _change_faults(quota: Quota, current: Quota) -> dict[str, str]:
    faults = {}
    if (quota.kind, quota.key) != (current.kind, current.key):
        faults["key"] = _("The key and the kind of a quota stay. Create another quota instead.")
    if quota.parent_id == current.pk:
        faults["parent"] = _("A quota is no part of itself. Choose another one.")
    elif quota.parent_id != current.parent_id and _was_used(current):
        faults["parent"] = _("What a quota is part of stays once it was charged. Create another quota instead.")
    return faults


def _was_used(quota: Quota) -> bool:
    charged = LedgerEntry.objects.filter(charged=quota, kind=EntryKind.CHARGE)
    return bool(quota.reserved) or quota.children.exists() or charged.exists()


# --- steps -----------------------------------------------------------------------------------------------------


def _take_over(books: Books, current: Quota, edited: Quota, changed: list[str], actor: str) -> None:
    limit = edited.limit
    for name in set(changed) - {"limit"}:
        setattr(current, _column(name), column_value(edited, name))
    if "limit" in changed:
        charging.change_limit(books, current, limit, purchase(None, actor=actor))
    if "parent" in changed:
        current.ancestors = _chain_of(edited.parent_id, books)
    if set(changed) & set(RESET_FIELDS):
        _set_clock(current, books.now)
    current.version, current.updated_at = current.version + 1, books.now
    current.full_clean(validate_constraints=False)
    current.save(update_fields=[*changed, "ancestors", "period_start", "period_end", "version", "updated_at"])
    books.note_change(current)
    books.save(Cause.LIMIT_CHANGE)


def _chain_of(parent_id: int | None, books: Books) -> list[int]:
    """Return the chain of the locked parent; of one that does not exist, which `full_clean` refuses, nothing."""
    parent = None if parent_id is None else books.quotas.get(parent_id)
    return parent.chain if parent else []


def _set_clock(quota: Quota, now: datetime) -> None:
    """Begin the first period or let the running one end by the new rule; or begin the refilling."""
    if quota.kind == Kind.PERIODIC:
        period = period_at(quota.reset_rule(), now)
        quota.period_start, quota.period_end = quota.period_start or period.start, period.end
    elif quota.kind == Kind.RATE:
        quota.refilled_at = quota.refilled_at or now


def _column(name: str) -> str:
    return str(Quota._meta.get_field(name).attname)  # type: ignore[union-attr]
