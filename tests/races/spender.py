"""A process that spends without end: `python -m tests.races.spender KEY NOW`, to be killed by a test."""

import sys
from datetime import datetime

import django


def spend_for_ever(key: str, now: datetime) -> None:
    """Charge, reserve, settle and refund, as fast as it goes."""
    from quotas import charging, reserving

    while True:
        charged = charging.charge(key, 3, now=now)
        held = reserving.reserve(key, 5, now=now)
        reserving.settle(held.pk, 4, now=now)
        charging.refund(key, charged.idempotency_key, amount=1, now=now)


if __name__ == "__main__":
    django.setup()
    spend_for_ever(sys.argv[1], datetime.fromisoformat(sys.argv[2]))
