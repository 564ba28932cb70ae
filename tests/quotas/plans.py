"""Queues of those who wait, and whom of them a plan admits."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from quotas.admission import Plan, Waiting, admit

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
PATIENCE = 10 * MINUTE


def waiting(key: str, needs: Mapping[int, int], *, tenant: str = "", priority: int = 0, minutes: int = 1) -> Waiting:
    return Waiting(key, tenant or key, priority, NOW - minutes * MINUTE, needs)


def planned(
    queue: Iterable[Waiting],
    available: Mapping[int, int | None],
    *,
    served: Mapping[str, datetime] | None = None,
    patience: timedelta | None = PATIENCE,
) -> Plan:
    return admit(queue, available, now=NOW, served=served or {}, patience=patience)


def keys(plan: Plan) -> list[str]:
    return [one.key for one in plan.admitted]
