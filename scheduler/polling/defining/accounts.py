"""Carrier accounts come, change and go."""

import json
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from project.kit.secrets import Secret, UnreadableSecret
from scheduler.polling import holding
from scheduler.polling.carriers.registry import BadSettings, read_access
from scheduler.polling.defining.rows import as_secret, changed_fields, current_row
from scheduler.polling.fleet import following
from scheduler.polling.models import CarrierAccount
from scheduler.polling.operations import claiming

ACCOUNT_FIELDS = ("name", "gateway", "settings", "credentials", "active")
# How the carrier is reached; looked at only when one of them really changed: an old row can still be renamed.
ACCESS_FIELDS = frozenset({"gateway", "settings", "credentials"})


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
        current = current_row(account, expected_version)
        changed = changed_fields(account, current, ACCOUNT_FIELDS)
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
        current = current_row(account, expected_version)
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
    if current is not None and not changed_fields(account, current, ACCESS_FIELDS):
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
        text = as_secret(account.credentials).reveal()
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
