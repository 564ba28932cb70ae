"""Tiers come, change and go."""

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from scheduler.polling import tiers
from scheduler.polling.defining.rows import changed_fields, current_row
from scheduler.polling.models import PollingTier
from scheduler.polling.states import CheckType

TIER_FIELDS = (
    *("position", "name", "states", "real_name_states", "packages", "usage_from_percent", "usage_below_percent"),
    *(f"{check}_seconds" for check in CheckType),
)
LONGEST_INTERVAL_SECONDS = 366 * 86_400


def save_new_tier(tier: PollingTier) -> None:
    """Insert a filled-in tier.

    Raises:
        ValidationError: a field is wrong; each message says which and what would be right.
    """
    check_tier(tier)
    tier.full_clean(validate_constraints=False)
    tier.save(force_insert=True)
    transaction.on_commit(tiers.current.forget)


def save_tier(tier: PollingTier, *, expected_version: int) -> list[str]:
    """Write what really changed of a tier and return the names of those fields.

    Cards follow with their next check, and at the latest when `reconciling` sees it and has the orders built anew.

    Raises:
        StaleVersion: it was saved by somebody else since `expected_version`.
        ValidationError: as `save_new_tier`.
    """
    with transaction.atomic():
        current = current_row(tier, expected_version)
        changed = changed_fields(tier, current, TIER_FIELDS)
        if changed:
            check_tier(tier)
            tier.full_clean(validate_constraints=False)
            tier.version = current.version + 1
            tier.save(update_fields=[*changed, "version"])
            transaction.on_commit(tiers.current.forget)
    return changed


def delete_tier(tier: PollingTier, *, expected_version: int) -> None:
    """Delete a tier; its cards follow as after `save_tier`.

    Raises:
        StaleVersion: as `save_tier`.
    """
    with transaction.atomic():
        current_row(tier, expected_version).delete()
        transaction.on_commit(tiers.current.forget)


def check_tier(tier: PollingTier) -> None:
    """Refuse a tier by which no card could be checked.

    Raises:
        ValidationError: naming the fields.
    """
    faults = {}
    for name in (f"{check}_seconds" for check in CheckType):
        seconds = getattr(tier, name)
        if isinstance(seconds, int) and not 1 <= seconds <= LONGEST_INTERVAL_SECONDS:
            faults[name] = _("Write seconds from 1 to a year of them, or leave it empty: then it is not checked.")
    least, below = tier.usage_from_percent, tier.usage_below_percent
    if least is not None and below is not None and least >= below:
        faults["usage_below_percent"] = _(
            "No usage is from %(least)s %% and below %(below)s %%. Write more than %(least)s."
        ) % {"least": least, "below": below}
    if faults:
        raise ValidationError(faults)
