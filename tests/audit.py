"""The audit of a schedule's books: each instant that was due stands in one record, and each record stands for what was
due.

The due instants are computed here, from the triggers that the schedule had, and never read from what was fired.
`scheduler.cron` says which they are; its own tests compare it with other implementations.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.db.models import Q, QuerySet

from quotas.checking import check_books
from quotas.models import Reservation
from quotas.states import Purpose, ReservationState, Verdict
from scheduler.cron import Trigger
from scheduler.cron.spans import COUNT_LIMIT
from scheduler.firing import ON_TIME
from scheduler.models import Fire, Pause, RunEvent, Schedule, TaskRun
from scheduler.states import FireKind, FireOutcome, RunState
from scheduler.waits import owner_of

A_MOMENT = timedelta(microseconds=1)
PLANNED = (FireKind.SCHEDULED, FireKind.MISFIRE)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of time, both ends included, in which the schedule had this trigger."""

    trigger: Trigger
    since: datetime
    until: datetime

    def due(self) -> Iterator[datetime]:
        """Yield the instants that were due."""
        return self.trigger.instants(self.since, self.until + A_MOMENT)


def audit_schedule(schedule: Schedule, stretches: Sequence[Stretch], *, replayed_after: Sequence[int] = ()) -> None:
    """Assert that what was due in the stretches was fired or skipped, once, as the schedule says.

    Args:
        replayed_after: keys of fires. After each of them the clock was set back and the schedule planned anew, so
            that instants came a second time: then one that had been left out may be fired when it comes again, or be
            left out again, but none is fired twice.
    """
    due = sorted({instant for stretch in stretches for instant in stretch.due()})
    fires = list(Fire.objects.filter(schedule=schedule, kind__in=PLANNED).order_by("pk"))
    assert_each_instant_has_its_record(schedule, due, fires, replayed_after)
    for fire in fires:
        if fire.missed_count is not None:
            assert_span_is_what_was_due(fire, stretches)
        else:
            assert instants_of(fire, due) == [fire.fire_at], f"fired what was not due: {fire}"
            if fire.outcome != FireOutcome.FAILED_TO_START:
                assert_late_only_within_grace(fire, schedule)
    assert_no_flood(fires)
    assert_runs_belong_to_their_fires(schedule, fires)


def assert_each_instant_has_its_record(
    schedule: Schedule, due: Sequence[datetime], fires: Sequence[Fire], replayed_after: Sequence[int]
) -> None:
    """Assert that each due instant was fired, or skipped, or lies in one skip."""
    recorded = {instant for fire in fires for instant in instants_of(fire, due)}
    forgotten = [instant for instant in due if instant not in recorded]
    assert not forgotten, f"{schedule}: due, and nothing is recorded: {texts(forgotten)}"
    for time in times_round(fires, replayed_after):
        counted = Counter(instant for fire in time for instant in instants_of(fire, due))
        twice = sorted(instant for instant, count in counted.items() if count > 1)
        assert not twice, f"{schedule}: recorded twice: {texts(twice)}"
    started = Counter(fire.fire_at for fire in fires if fire.outcome == FireOutcome.STARTED)
    assert not started or max(started.values()) == 1, f"{schedule}: started twice: {started}"


def instants_of(fire: Fire, due: Sequence[datetime]) -> Sequence[datetime]:
    """Return for which of the due instants, in order, the record stands."""
    first, last = fire.missed_from or fire.fire_at, fire.missed_until or fire.fire_at
    return due[bisect_left(due, first) : bisect_right(due, last)]


def times_round(fires: Sequence[Fire], replayed_after: Sequence[int]) -> Iterator[list[Fire]]:
    """Part the records where instants came a second time."""
    bounds = [0, *replayed_after]
    for first, last in zip(bounds, [*bounds[1:], float("inf")], strict=True):
        yield [fire for fire in fires if first < fire.pk <= last]


def assert_span_is_what_was_due(fire: Fire, stretches: Sequence[Stretch]) -> None:
    """Assert that a skip begins and ends with what was due under one of the triggers, and counts it rightly."""
    assert fire.missed_from is not None
    assert fire.missed_until is not None
    assert fire.fire_at == fire.missed_from
    spans = [list(stretch.trigger.instants(fire.missed_from, fire.missed_until + A_MOMENT)) for stretch in stretches]
    assert any(
        span
        and (span[0], span[-1]) == (fire.missed_from, fire.missed_until)
        and fire.missed_count == min(len(span), COUNT_LIMIT)
        for span in spans
    ), f"{fire}: {fire.missed_count} until {fire.missed_until}, of {[texts(span) for span in spans]}"


def assert_late_only_within_grace(fire: Fire, schedule: Schedule) -> None:
    """Assert that what is recorded as on time was so, and that what was made up was not too late."""
    late = fire.recorded_at - fire.fire_at
    limit = ON_TIME
    if fire.kind == FireKind.MISFIRE:
        limit = max(limit, timedelta(seconds=schedule.misfire_grace_seconds))
        assert late > ON_TIME, f"{fire} was {late} late"
    assert timedelta(0) <= late <= limit, f"{fire} was {late} late, beyond {limit}"


def assert_no_flood(fires: Sequence[Fire]) -> None:
    """Assert that one look at the schedule started one run at the most, and recorded one skip at the most."""
    looks = Counter((fire.recorded_at, fire.missed_count is None) for fire in fires)
    assert not looks or max(looks.values()) == 1, looks


def assert_runs_belong_to_their_fires(schedule: Schedule, fires: Sequence[Fire]) -> None:
    """Assert that each fire which started a run has one, for its instant and that instant's local date."""
    runs = {run.fire_id: run for run in TaskRun.objects.filter(fire__in=[fire.pk for fire in fires])}
    assert set(runs) == {fire.pk for fire in fires if fire.outcome == FireOutcome.STARTED}
    for fire in fires:
        if fire.pk in runs:
            run = runs[fire.pk]
            day = fire.fire_at.astimezone(ZoneInfo(schedule.timezone)).date()
            assert run.planned_at == fire.fire_at, f"{fire}: {run.planned_at}"
            assert run.stat_date == day + timedelta(days=schedule.stat_date_offset), f"{fire}: {run.stat_date}"


def audit_quotas() -> None:
    """Assert that the quotas' books prove themselves, that no paused run is forgotten, that each resume is counted,
    but for those that nobody began, and that nothing is kept for a run that has ended.
    """
    assert check_books() == []
    assert not list(forgotten()), "paused, and nothing will resume them"
    resumed = Counter(RunEvent.objects.filter(to_state=RunState.RESUMING).values_list("run", flat=True))
    unbegun = RunEvent.objects.filter(from_state=RunState.RESUMING, to_state=RunState.PAUSED)
    resumed -= Counter(unbegun.values_list("run", flat=True))
    assert resumed == Counter(dict(Pause.objects.filter(resume_count__gt=0).values_list("run", "resume_count")))
    admitted = Reservation.objects.filter(state=ReservationState.HELD, purpose=Purpose.ADMISSION)
    ended = TaskRun.objects.filter(finished_at__isnull=False).values_list("pk", flat=True)
    assert not {owner_of(pk) for pk in ended} & set(admitted.values_list("owner", flat=True))


def forgotten() -> QuerySet[TaskRun]:
    """Return the paused runs at which nothing will look: neither a person who is asked, nor the end of a delay, nor the
    fallback poll, which has a time for each quota that is insufficient, and sweeps what waits for one that has enough.
    """
    paused = TaskRun.objects.filter(state=RunState.PAUSED)
    unwatched = Q(waits__quota__verdict=Verdict.INSUFFICIENT, waits__quota__next_check_at=None)
    left_alone = Q(pause__held="", pause__not_before=None)
    return paused.filter(Q(pause=None) | left_alone & (Q(waits=None) | unwatched))


def texts(instants: Sequence[datetime]) -> str:
    """Return the instants in words, the middle of a long list left out."""
    shown = [f"{instant:%Y-%m-%d %H:%M:%S}" for instant in instants]
    return ", ".join(shown if len(shown) <= 8 else [*shown[:4], f"… {len(shown)} in all …", *shown[-3:]])
