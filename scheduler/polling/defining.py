"""Accounts, their parameters and the tiers come and change. Every way to write one leads through here: form, API,
try-out. Cards are written by fleet.lifecycle, settings by system_settings.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Model
from django.utils.translation import gettext as _

from project.kit.secrets import Secret, UnreadableSecret
from project.kit.versions import StaleVersion, column_value
from quotas.ratelimit import LimiterError
from scheduler.polling import holding, tiers
from scheduler.polling.carriers.registry import BadSettings, read_access
from scheduler.polling.fleet import following
from scheduler.polling.models import CarrierAccount, PollingParams, PollingTier
from scheduler.polling.operations import claiming
from scheduler.polling.params import DEFAULTS, SHARED_QUEUE, windows_of
from scheduler.polling.states import CheckType

Row = TypeVar("Row", CarrierAccount, PollingTier)

ACCOUNT_FIELDS = ("name", "gateway", "settings", "credentials", "active")
# How the carrier is reached; looked at only when one of them really changed: an old row can still be renamed.
ACCESS_FIELDS = frozenset({"gateway", "settings", "credentials"})
PARAMS_FIELDS = tuple(DEFAULTS)
TIER_FIELDS = (
    *("position", "name", "states", "real_name_states", "packages", "usage_from_percent", "usage_below_percent"),
    *(f"{check}_seconds" for check in CheckType),
)
LONGEST_INTERVAL_SECONDS = 366 * 86_400
QUEUE_NAME = rf"{re.escape(SHARED_QUEUE)}(\.[A-Za-z0-9_-]+)*"
EXAMPLE = f"{SHARED_QUEUE}.acme"


# --- accounts --------------------------------------------------------------------------------------------------


def create_account(
    *,
    name: str,
    gateway: str,
    now: datetime,
    settings: dict[str, Any],
    credentials: dict[str, Any],
    active: bool = True,
) -> CarrierAccount:
    """Create a carrier account.

    Raises:
        ValidationError: a field is wrong; each message says which and what would be right.
    """
    account = CarrierAccount(name=name, gateway=gateway, settings=settings, active=active)
    account.credentials = Secret.of(json.dumps(credentials)) if credentials else Secret.of("")
    save_new_account(account, now=now)
    return account


def save_new_account(account: CarrierAccount, *, now: datetime) -> None:
    """Insert a filled-in account.

    Raises:
        ValidationError: as `create_account`.
    """
    check_account(account)
    account.created_at = account.updated_at = now
    account.full_clean(validate_constraints=False)
    account.save(force_insert=True)


def save_account(account: CarrierAccount, *, expected_version: int, now: datetime) -> list[str]:
    """Write what really changed and return the names of those fields.

    An account that is reached in another way is no longer left in peace. One that is switched off forgets its order.

    Raises:
        StaleVersion: it was saved by somebody else since `expected_version`.
        ValidationError: as `create_account`.
    """
    with transaction.atomic():
        current = _current(account, expected_version)
        changed = _changed(account, current, ACCOUNT_FIELDS)
        check_account(account, current)
        if changed:
            account.version, account.updated_at = current.version + 1, now
            account.full_clean(validate_constraints=False)
            account.save(update_fields=[*changed, "version", "updated_at"])
        if ACCESS_FIELDS.intersection(changed):
            holding.release(account.pk, sentence="Its settings or credentials were changed.", now=now)
        if "active" in changed and not account.active:
            transaction.on_commit(partial(following.forget_at_once, account.pk))
    return changed


def delete_account(account: CarrierAccount, *, expected_version: int) -> None:
    """Delete an account that has no cards any more.

    Raises:
        StaleVersion: as `save_account`.
        ValidationError: it has cards.
    """
    with transaction.atomic():
        current = _current(account, expected_version)
        if count := current.cards.count():
            raise ValidationError(
                _("The account “%(current)s” has %(count)s cards. Give them to another account, or delete them first.")
                % {"current": current, "count": f"{count:,}"}
            )
        claiming.leave(account.pk)
        current.delete()
        transaction.on_commit(partial(following.forget_at_once, account.pk))


def check_account(account: CarrierAccount, current: CarrierAccount | None = None) -> None:
    """Refuse an account that its gateway could not use.

    Args:
        current: the row as it is; None: it is new. One that is reached as before is not looked at.

    Raises:
        ValidationError: naming the fields, and within settings and credentials the place.
    """
    if current is not None and not _changed(account, current, ACCESS_FIELDS):
        return
    credentials = _revealed(account)
    if not isinstance(account.settings, dict):
        raise ValidationError({"settings": _('Write the settings as an object, as in {"timezone": "Asia/Shanghai"}.')})
    try:
        read_access(account.gateway, account.settings, credentials)
    except BadSettings as error:
        raise ValidationError(_by_field(error.problems)) from None


def _revealed(account: CarrierAccount) -> dict[str, Any]:
    try:
        text = _as_secret(account.credentials).reveal()
    except UnreadableSecret as error:
        raise ValidationError({"credentials": str(error)}) from None
    credentials = json.loads(text) if text else {}
    if not isinstance(credentials, dict):
        raise ValidationError({"credentials": _('Write the credentials as an object, as in {"password": "..."}.')})
    return credentials


def _by_field(problems: Mapping[str, str]) -> dict[str, list[str]]:
    faults: dict[str, list[str]] = {}
    for place, sentence in problems.items():
        field, _, within = place.partition(".")
        faults.setdefault(field, []).append(f"{within}: {sentence}" if within else sentence)
    return faults


def _as_secret(value: Any) -> Secret:
    """Return the value of the credentials' column as a secret, also before it was saved."""
    secret: Secret | None = CarrierAccount._meta.get_field("credentials").to_python(value)
    return secret or Secret.of("")


# --- parameters ------------------------------------------------------------------------------------------------


def save_params(params: PollingParams, *, expected_version: int, now: datetime, actor: str) -> list[str]:
    """Write what really changed of an account's parameters and return the names of those fields.

    Args:
        expected_version: that of the row which the person saw; 0 if there was none.

    Raises:
        StaleVersion: they were saved by somebody else since `expected_version`.
        ValidationError: a field is wrong; each message says which and what would be right.
    """
    check_params(params)
    with transaction.atomic():
        # Locked by its account, so that two first changes do not meet.
        CarrierAccount.objects.select_for_update(no_key=True).get(pk=params.account_id)
        current = PollingParams.objects.filter(pk=params.account_id).first() or _no_params(params.account_id)
        if current.version != expected_version:
            raise StaleVersion(current)
        changed = _changed(params, current, PARAMS_FIELDS)
        if changed:
            params.version, params.changed_by, params.changed_at = current.version + 1, actor, now
            params.full_clean(validate_constraints=False, validate_unique=False)
            params.save(force_insert=current.version == 0)
    return changed


def back_to_defaults(account_id: int) -> bool:
    """Forget an account's parameters; False: it had none of its own."""
    deleted, _ = PollingParams.objects.filter(pk=account_id).delete()
    return bool(deleted)


def _no_params(account_id: int) -> PollingParams:
    return PollingParams(account_id=account_id, version=0)


def check_params(params: PollingParams) -> None:
    """Refuse parameters that no poller could keep.

    Raises:
        ValidationError: naming the fields.
    """
    faults = {}
    if params.rate_windows is not None:
        try:
            windows_of(params.rate_windows)
        except LimiterError as error:
            faults["rate_windows"] = str(error)
    if params.queue and not re.fullmatch(QUEUE_NAME, params.queue):
        faults["queue"] = _(
            "“%(queue)s” is no queue of its own: write %(shared_queue)s and a name, as in %(example)s."
        ) % {"queue": params.queue, "shared_queue": SHARED_QUEUE, "example": EXAMPLE}
    if faults:
        raise ValidationError(faults)


# --- tiers -----------------------------------------------------------------------------------------------------


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
        current = _current(tier, expected_version)
        changed = _changed(tier, current, TIER_FIELDS)
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
        _current(tier, expected_version).delete()
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


# --- rows with a version ---------------------------------------------------------------------------------------


def _current(row: Row, expected_version: int) -> Row:
    """Return the row as it is, locked.

    Raises:
        StaleVersion: it is another version.
    """
    current = type(row)._default_manager.select_for_update().get(pk=row.pk)
    if current.version != expected_version:
        raise StaleVersion(current)
    return current


def _changed(row: Model, current: Model, names: Iterable[str]) -> list[str]:
    return [name for name in names if _value(row, name) != _value(current, name)]


def _value(row: Model, name: str) -> Any:
    return _as_secret(column_value(row, name)) if name == "credentials" else column_value(row, name)
