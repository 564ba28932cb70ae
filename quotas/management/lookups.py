"""What people write on the command line of the quotas: the key of a quota, an amount, a limit, a time of the day."""

import argparse
from datetime import time

from django.core.management.base import CommandError

from quotas.models import Quota

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def find_quota(key: str) -> Quota:
    """Return the quota of that key.

    Raises:
        CommandError: there is none; the message suggests the nearest keys.
    """
    found = Quota.objects.select_related("parent").filter(key=key).first()
    if found is None:
        near = Quota.objects.filter(key__icontains=key).values_list("key", flat=True)[:3]
        hint = f" Did you mean {' or '.join(f'“{other}”' for other in near)}?" if near else ""
        raise CommandError(f"There is no quota “{key}”.{hint}")
    return found


def amount(text: str) -> int:
    """Return a whole number, also one written as 10_000, as the type of an argument."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"“{text}” is not a whole number, such as 500") from None


def limit(text: str) -> int | None:
    """Return a limit, as the type of an argument; `none` is unlimited."""
    return None if text == "none" else amount(text)


def clock_time(text: str) -> time:
    """Return a time of the day, as the type of an argument."""
    try:
        return time.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"“{text}” is not a time of the day, such as 06:30") from None
