"""Channels come and change. Every way to write one leads through here: form, command, API, try-out."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from alerts.channels.base import Endpoint, Refused
from alerts.channels.hosts import recognise
from alerts.channels.recognising import settle_format
from alerts.channels.registry import HTTP_FORMATS
from alerts.models import Channel, Delivery
from alerts.models.channels import MOST_REPEAT_HOURS
from alerts.states import DeliveryState
from project.kit.outbound import BadAddress, check_address
from project.kit.secrets import Secret, UnreadableSecret
from project.kit.versions import StaleVersion
from project.kit.wall_clocks import suggestion, zone_names

EDITABLE_FIELDS = (
    "name",
    "enabled",
    "format",
    "address",
    "secrets",
    "keyword",
    "kinds",
    "least_severity",
    "labels",
    "repeat_hours",
    "quiet_from",
    "quiet_until",
    "timezone",
    "retry_ambiguous",
)
# What the address is checked against, only when one of them really changed: an old row can still be renamed.
ENDPOINT_FIELDS = frozenset({"format", "address", "secrets", "keyword"})
SECRET_FIELDS = frozenset({"address", "secrets"})
# After a change of one of these a channel that has failed is tried at once.
MENDED_BY = ENDPOINT_FIELDS | {"enabled"}


def create(*, name: str, address: str, now: datetime, **fields: Any) -> Channel:
    """Create a channel.

    Raises:
        ValidationError: a field is wrong; each message says which and what would be right.
    """
    channel = Channel(name=name, **fields)
    channel.address = Secret.of(address)
    save_new(channel, now=now)
    return channel


def save_new(channel: Channel, *, now: datetime) -> None:
    """Insert a filled-in channel.

    Raises:
        ValidationError: as `create`.
    """
    check(channel)
    channel.created_at = channel.updated_at = now
    channel.full_clean(validate_constraints=False)
    channel.save(force_insert=True)


def save_changes(channel: Channel, *, expected_version: int, now: datetime) -> list[str]:
    """Write what really changed and return the names of those fields.

    Raises:
        StaleVersion: it was saved by somebody else since `expected_version`.
        ValidationError: as `create`.
    """
    with transaction.atomic():
        current = Channel.objects.select_for_update().get(pk=channel.pk)
        if current.version != expected_version:
            raise StaleVersion(current)
        changed = _changed(channel, current)
        if not changed:
            return []
        check(channel, current)
        channel.version, channel.updated_at = current.version + 1, now
        channel.full_clean(validate_constraints=False)
        channel.not_before = None if MENDED_BY.intersection(changed) else current.not_before
        channel.save(update_fields=[*{*changed, "format"}, "address_shown", "not_before", "version", "updated_at"])
        if MENDED_BY.intersection(changed):
            _let_all_be_tried(channel, now)
    return changed


def _let_all_be_tried(channel: Channel, now: datetime) -> None:
    """End the waits of what was refused; what waits for the end of quiet hours is put off again by its sender."""
    Delivery.objects.filter(channel=channel, state=DeliveryState.WAITING, due_at__gt=now).update(due_at=now)


def check(channel: Channel, current: Channel | None = None) -> None:
    """Look at a channel that is to be saved, and write its format and address as they are stored.

    Args:
        current: what it is now; None: it is new.

    Raises:
        ValidationError: as `create`.
    """
    faults = {**_faults_of_choices(channel), **_faults_of_repeating(channel), **_faults_of_hours(channel)}
    if faults:
        raise ValidationError(faults)
    if current is None or ENDPOINT_FIELDS.intersection(_changed(channel, current)):
        _settle_endpoint(channel)


def _changed(channel: Channel, current: Channel) -> list[str]:
    return [name for name in EDITABLE_FIELDS if _value(channel, name) != _value(current, name)]


def _value(channel: Channel, name: str) -> Any:
    value = getattr(channel, name)
    return as_secret(value) if name in SECRET_FIELDS else value


def _faults_of_choices(channel: Channel) -> dict[str, str]:
    faults = {}
    if not isinstance(channel.kinds, list) or not _are_texts(channel.kinds):
        faults["kinds"] = _('Write the kinds as a list of texts, as in ["run_failed"].')
    if not isinstance(channel.labels, dict) or not _are_texts([*channel.labels, *channel.labels.values()]):
        faults["labels"] = _('Write the labels as an object of texts, as in {"name": "nightly"}.')
    return faults


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)


def _faults_of_repeating(channel: Channel) -> dict[str, str]:
    hours = channel.repeat_hours
    if hours is None or 1 <= hours <= MOST_REPEAT_HOURS:
        return {}
    return {
        "repeat_hours": _("Repeat after 1 to %(most_repeat_hours)s hours, or leave it empty to be told once.")
        % {"most_repeat_hours": f"{MOST_REPEAT_HOURS:,}"}
    }


def _faults_of_hours(channel: Channel) -> dict[str, str]:
    faults = {}
    if channel.timezone not in zone_names():
        faults["timezone"] = _("The time zone “%(timezone)s” is not known. %(suggestion)s") % {
            "timezone": channel.timezone,
            "suggestion": suggestion(channel.timezone),
        }
    if (channel.quiet_from is None) != (channel.quiet_until is None):
        missing = "quiet_from" if channel.quiet_from is None else "quiet_until"
        faults[missing] = _("Quiet hours need both ends: from when and until when.")
    elif channel.quiet_from is not None and channel.quiet_from == channel.quiet_until:
        faults["quiet_until"] = "Quiet hours that begin and end at the same time would never end. Choose another end."
    return faults


def _settle_endpoint(channel: Channel) -> None:
    """Choose the format where none was, and check the address: for its platform, and that it does not lead inwards."""
    address, secrets = _revealed(channel, "address").strip(), _revealed(channel, "secrets")
    try:
        name = shown = channel.format or recognise(address)
        if name in HTTP_FORMATS:
            checked = check_address(address, allowed_hosts=settings.TIDELINE_ALLOWED_HOSTS_INWARD)
            address, shown = checked.url, checked.host
        channel.format = settle_format(Endpoint(address, tuple(secrets.split()), channel.keyword), name)
    except BadAddress as error:
        raise ValidationError({"address": str(error)}) from None
    except Refused as error:
        raise ValidationError({error.field: str(error)}) from None
    channel.address, channel.address_shown = Secret.of(address), shown
    channel.secrets = as_secret(channel.secrets)


def _revealed(channel: Channel, name: str) -> str:
    try:
        return as_secret(getattr(channel, name)).reveal()
    except UnreadableSecret as error:
        raise ValidationError({name: str(error)}) from None


def as_secret(value: str | Secret) -> Secret:
    """Return the value of a secret column as a secret, also before it was saved."""
    return value if isinstance(value, Secret) else Secret.of(value)
