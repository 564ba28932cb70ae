"""What a person proves themselves with: a device that makes codes, and recovery codes for when it is lost."""

import logging

from django.contrib.auth.models import User
from django.db import transaction
from django_otp.models import Device
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

logger = logging.getLogger(__name__)

RECOVERY_CODES = 10
DIGITS = 6


def is_enrolled(user: User) -> bool:
    """Tell whether the person has a device that has proved to work."""
    return bool(TOTPDevice.objects.filter(user=user, confirmed=True).exists())


def offered(user: User) -> TOTPDevice:
    """Return the device that the person is about to set up, the same one until it has proved to work."""
    device = TOTPDevice.objects.filter(user=user, confirmed=False).first()
    return device or TOTPDevice.objects.create(user=user, name="device", confirmed=False)


@transaction.atomic
def enrol(user: User, code: str) -> TOTPDevice | None:
    """Take the offered device as the person's, if the code is one of it; else None."""
    device = TOTPDevice.objects.select_for_update().filter(user=user, confirmed=False).first()
    if device is None or not device.verify_token(code):
        return None
    device.confirmed = True
    device.save(update_fields=["confirmed"])
    logger.info("a second factor was set up for user #%s", user.pk)
    return device


@transaction.atomic
def proved(user: User, code: str) -> Device | None:
    """Return the device or the recovery codes that the code belongs to, and use it up; None: it is of neither."""
    kind: type[Device] = TOTPDevice if len(code) == DIGITS and code.isdecimal() else StaticDevice
    device = kind.objects.select_for_update().filter(user=user, confirmed=True).first()
    return device if device is not None and device.verify_token(code) else None


@transaction.atomic
def new_recovery_codes(user: User) -> list[str]:
    """Return recovery codes, each good for one login; those of before are good no more."""
    device, _ = StaticDevice.objects.get_or_create(user=user, name="recovery codes", defaults={"confirmed": True})
    device.token_set.all().delete()
    codes = [StaticToken.random_token() for _ in range(RECOVERY_CODES)]
    StaticToken.objects.bulk_create(StaticToken(device=device, token=code) for code in codes)
    return codes


def recovery_codes_left(user: User) -> int:
    """Return how many recovery codes were not used yet."""
    return int(StaticToken.objects.filter(device__user=user).count())


@transaction.atomic
def forget(user: User) -> bool:
    """Forget the person's device and codes, so that the next login sets up new ones; return whether there were any."""
    deleted = [kind.objects.filter(user=user).delete()[0] for kind in (TOTPDevice, StaticDevice)]
    return any(deleted)
