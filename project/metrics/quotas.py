"""How much of each quota is used, and whether work may go on."""

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Count

from project.metrics.definitions import MORE_THAN_SHOWN, MOST_SHOWN, Figure, by_value, gauge, label_of, seconds_since
from quotas import availability
from quotas.models import Quota
from quotas.states import Verdict

QUOTAS = gauge("tideline_quotas", "Quotas by their verdict: whether work that waits for them may go on.", "verdict")
USED = gauge("tideline_quota_used", "What counts as used now, in the quota's units.", "quota")
RESERVED = gauge("tideline_quota_reserved", "What is reserved, in the quota's units.", "quota")
LIMIT = gauge("tideline_quota_limit", "The quota's own limit in its units; absent: unlimited.", "quota")
AVAILABLE = gauge(
    "tideline_quota_available",
    "What can be charged now, by the limit and by the provider's last word; absent: unlimited.",
    "quota",
)
SUFFICIENT = gauge("tideline_quota_sufficient", "Whether work that waits for it may go on (1) or not (0).", "quota")
WAITED = gauge("tideline_quota_waited_seconds", "For how long the oldest work has waited for it; 0: none.", "quota")
METRICS = (QUOTAS, USED, RESERVED, LIMIT, AVAILABLE, SUFFICIENT, WAITED, MORE_THAN_SHOWN)


def figures(now: datetime) -> Iterator[Figure]:
    """Yield the figures, with two queries. Those that are short come first, if not all have series of their own."""
    counts = dict(Quota.objects.order_by().values_list("verdict").annotate(count=Count("id")))
    yield from by_value(QUOTAS, Verdict.values, counts)
    yield MORE_THAN_SHOWN.at(sum(counts.values()) > MOST_SHOWN, "quotas")
    rows = Quota.objects.defer("description", "probe_headers")
    for quota in rows.order_by("verdict", "pk")[:MOST_SHOWN]:  # "insufficient" comes before "sufficient"
        yield from _of(quota, now)


def _of(quota: Quota, now: datetime) -> Iterator[Figure]:
    name = label_of(quota.key, quota.pk)
    yield USED.at(availability.used_at(quota, now), name)
    yield RESERVED.at(quota.reserved, name)
    if quota.limit is not None:
        yield LIMIT.at(quota.limit, name)
    if (left := availability.available(quota, now)) is not None:
        yield AVAILABLE.at(left, name)
    yield SUFFICIENT.at(quota.verdict == Verdict.SUFFICIENT, name)
    yield WAITED.at(seconds_since(quota.waited_since, now), name)
