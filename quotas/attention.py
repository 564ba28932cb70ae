"""What a person should know of quotas, told as `alerts.attention` says."""

from datetime import datetime
from enum import StrEnum

from django.urls import reverse

from alerts.attention import Attention, tell
from quotas.models import Quota


class Kind(StrEnum):
    """What happened."""

    QUOTA_WARNING = "quota_warning"
    QUOTA_EXHAUSTED = "quota_exhausted"
    QUOTA_FLAPPING = "quota_flapping"


EXHAUSTED_PERCENT = 100
# Each is told once a period, and again after a top-up or another limit.
WARNING_PERCENTS = (80, 95, EXHAUSTED_PERCENT)


def tell_of_level(quota: Quota, percent: int, now: datetime) -> None:
    """Tell that so much of the quota is used."""
    if percent == EXHAUSTED_PERCENT:
        _tell(Kind.QUOTA_EXHAUSTED, quota, "It is used up. What needs it waits, and goes on when it is back.", now)
    else:
        # Each percentage is a problem of its own: reaching 95 is told though 80 was.
        _tell(Kind.QUOTA_WARNING, quota, f"{percent} % of it is used.", now, point=f":{percent}")


def tell_of_flapping(quota: Quota, edges: int, now: datetime) -> None:
    """Tell that the quota came back more often in an hour than is let through."""
    sentence = f"It came back {edges} times within an hour. Nothing more is resumed by it before the hour has passed."
    _tell(Kind.QUOTA_FLAPPING, quota, sentence, now)


def _tell(kind: Kind, quota: Quota, sentence: str, at: datetime, *, point: str = "") -> None:
    tell(
        Attention(
            kind,
            f"{kind}:{quota.key}{point}",
            f"Quota {quota}",
            sentence,
            at,
            key=f"quota:{quota.pk}",
            labels={"quota": quota.key},
            url=reverse("admin:quotas_quota_change", args=[quota.pk]),
        )
    )
