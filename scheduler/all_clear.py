"""What was wrong and is well again, by the rows: the alerts of schedules, runs and quotas are resolved by a scan, so
that no fast way of a run has to ask whether there was one. Rows prove that a problem is gone, so seeing that once is
enough (see `resolve_alerts` on when it is not).
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from alerts.models import Alert
from alerts.recording import resolve_alerts
from quotas.attention import Kind as QuotaKind
from quotas.models import Quota
from quotas.states import Verdict
from scheduler.attention import Kind
from scheduler.models import Fire, Schedule, TaskRun
from scheduler.states import FireOutcome, RunState

HOUR = timedelta(hours=1)


def resolve_what_is_well(*, now: datetime) -> int:
    """Resolve the open alerts whose problem is gone; return how many it were. The statements grow with the kinds of
    what is open, and not with its number.
    """
    by_kind: dict[str, dict[int, list[Alert]]] = {}
    for alert in Alert.objects.filter(kind__in=WELL, resolved_at__isnull=True):
        _, _, number = alert.subject.partition(":")
        by_kind.setdefault(alert.kind, {}).setdefault(int(number or 0), []).append(alert)
    return sum(_resolve(kind, alerts, now) for kind, alerts in by_kind.items())


def _resolve(kind: str, alerts: Mapping[int, list[Alert]], now: datetime) -> int:
    is_well, sentence = WELL[kind]
    well = [alert.fingerprint for alert in is_well(alerts, now)]
    return resolve_alerts(well, now=now, sentence=sentence) if well else 0


# --- by kind ---------------------------------------------------------------------------------------------------


def _done_since(alerts: Mapping[int, list[Alert]], now: datetime) -> Iterable[Alert]:
    """Those whose schedule, or whose run in another try, has been done since."""
    of_schedules = [alert for same in alerts.values() for alert in same if alert.subject.startswith("schedule:")]
    of_runs = [alert for same in alerts.values() for alert in same if alert.subject.startswith("run:")]
    done = TaskRun.objects.filter(schedule=OuterRef("pk"), state=RunState.DONE).order_by("-id")
    yield from _later_than(of_schedules, _latest(of_schedules, done.values("finished_at")[:1]))
    again = TaskRun.objects.filter(rerun_of__in=map(_number, of_runs), state=RunState.DONE)
    reruns = set(again.values_list("rerun_of", flat=True))
    yield from (alert for alert in of_runs if _number(alert) in reruns)


def _left(*states: RunState) -> Callable[[Mapping[int, list[Alert]], datetime], Iterable[Alert]]:
    """Those whose run is in none of the states any more."""

    def left(alerts: Mapping[int, list[Alert]], now: datetime) -> Iterable[Alert]:
        still = set(TaskRun.objects.filter(pk__in=alerts, state__in=states).values_list("pk", flat=True))
        return [alert for run_id, same in alerts.items() if run_id not in still for alert in same]

    return left


def _answered(alerts: Mapping[int, list[Alert]], now: datetime) -> Iterable[Alert]:
    """Those whose question is answered: the run asks nothing, or it asks another one by now."""
    asking = dict(
        TaskRun.objects.filter(pk__in=alerts, state=RunState.AWAITING_APPROVAL).values_list("pk", "attempt_count")
    )
    return [
        alert
        for run_id, same in alerts.items()
        for alert in same
        if not alert.fingerprint.endswith(f"run:{run_id}:{asking.get(run_id)}")
    ]


def _mended(alerts: Mapping[int, list[Alert]], now: datetime) -> Iterable[Alert]:
    broken = set(Schedule.objects.filter(pk__in=alerts).exclude(broken_reason="").values_list("pk", flat=True))
    return [alert for schedule_id, same in alerts.items() if schedule_id not in broken for alert in same]


def _fired_since(alerts: Mapping[int, list[Alert]], now: datetime) -> Iterable[Alert]:
    every = [alert for same in alerts.values() for alert in same]
    started = Fire.objects.filter(schedule=OuterRef("pk"), outcome=FireOutcome.STARTED).order_by("-id")
    return _later_than(every, _latest(every, started.values("recorded_at")[:1]))


def _calm(alerts: Mapping[int, list[Alert]], now: datetime) -> Iterable[Alert]:
    return [alert for same in alerts.values() for alert in same if alert.last_at <= now - HOUR]


def _sufficient(alerts: Mapping[int, list[Alert]], now: datetime) -> Iterable[Alert]:
    quotas = Quota.objects.filter(pk__in=alerts, verdict=Verdict.SUFFICIENT)
    well = set(quotas.values_list("pk", flat=True))
    return [alert for quota_id, same in alerts.items() if quota_id in well for alert in same]


def _below_warning(alerts: Mapping[int, list[Alert]], now: datetime) -> Iterable[Alert]:
    warned = dict(Quota.objects.filter(pk__in=alerts).values_list("pk", "warned_percent"))
    return [
        alert
        for quota_id, same in alerts.items()
        for alert in same
        if warned.get(quota_id, 0) < int(alert.fingerprint.rpartition(":")[2])
    ]


def _latest(alerts: Iterable[Alert], instant: QuerySet[Any, Any]) -> dict[int, datetime | None]:
    """Return by schedule the latest instant of what is asked for."""
    schedules = Schedule.objects.filter(pk__in=[_number(alert) for alert in alerts])
    return dict(schedules.annotate(latest=Subquery(instant)).values_list("pk", "latest"))


def _later_than(alerts: Iterable[Alert], latest: Mapping[int, datetime | None]) -> list[Alert]:
    return [alert for alert in alerts if (at := latest.get(_number(alert))) is not None and at > alert.last_at]


def _number(alert: Alert) -> int:
    return int(alert.subject.partition(":")[2])


WELL: Mapping[str, tuple[Callable[[Mapping[int, list[Alert]], datetime], Iterable[Alert]], str]] = {
    Kind.RUN_FAILED: (_done_since, "A later run is done."),
    Kind.RUN_POISON: (_done_since, "A later run is done."),
    Kind.RUN_SUSPENDED: (_left(RunState.SUSPENDED), "A person has decided how it goes on."),
    Kind.RUN_ASKS: (_answered, "The question is answered."),
    Kind.RUN_NOT_RESUMED: (_left(RunState.PAUSED, RunState.RESUMING), "It goes on."),
    Kind.RUN_FLAPS: (_calm, "It has not been paused for an hour."),
    Kind.SCHEDULE_BROKEN: (_mended, "The schedule can be read again."),
    Kind.SCHEDULE_MISSED: (_fired_since, "It fires again."),
    QuotaKind.QUOTA_EXHAUSTED: (_sufficient, "The quota is back."),
    QuotaKind.QUOTA_WARNING: (_below_warning, "Less of it is used."),
    QuotaKind.QUOTA_FLAPPING: (_calm, "It has not come back for an hour."),
}
