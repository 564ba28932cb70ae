"""Why a run that was held, delayed or resumed does not run yet."""

from datetime import time

import pytest

from quotas import charging
from quotas.models import Quota
from scheduler import operations, pausing, resuming, running
from scheduler.explaining import Scan, Scans, Situation, explain_run, next_in_words
from scheduler.models import Pause, TaskRun
from scheduler.resuming import Resumption
from scheduler.states import EventTrigger
from tests.quotas.factories import make_daily, now_is
from tests.scheduler.factories import HOUR, MINUTE, NOW, SECOND, WORKER, launched, make_schedule
from tests.scheduler.paused_runs import hold, refusal_of, refused_again, refused_run, used_up
from tests.scheduler.why import why

pytestmark = pytest.mark.django_db


# --- held and delayed ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("held", "fields", "sentence"),
    [
        (Pause.Held.AGREEMENT, {}, "lets a paused run go on only after a person agreed."),
        (Pause.Held.LIMIT, {"resume_count": 3}, "it was resumed 3 times, as often as its schedule lets it"),
        (Pause.Held.SETBACKS, {"setbacks": 5}, "it was resumed 5 times in a row and got nowhere."),
    ],
)
def test_a_held_run_says_by_what_and_that_a_person_lets_it_go_on(
    held: str, fields: dict[str, int], sentence: str
) -> None:
    run = refused_run((used_up(make_daily()), 1))
    hold(run, held=held, **fields)
    said = why(run)
    assert said.situation is Situation.HELD
    assert sentence in said.answer
    assert said.waits_for == "a person who resumes it"
    assert said.next_at is None


def test_a_schedule_that_wants_an_agreement_holds_its_runs_by_itself() -> None:
    said = why(refused_run((used_up(make_daily()), 1), resume_by_hand=True))
    assert said.situation is Situation.HELD


def test_a_run_that_got_nowhere_says_until_when_it_is_delayed() -> None:
    quota = used_up(make_daily(100, key="x"))
    run = refused_run((quota, 1))
    hold(run, resume_count=1)
    run = resumed_by_hand(run, quota)
    assert running.begin(launched(run), WORKER, now=NOW)
    run.refresh_from_db()
    refused_again(run, refusal_of(now_is(quota), 301), now=NOW + SECOND)
    said = why(run, now=NOW + SECOND)
    assert said.situation is Situation.RESUME_DELAYED
    assert "It was resumed once and got nowhere, so it waits longer each time." in said.answer
    assert said.next_at == NOW + SECOND + pausing.FIRST_DELAY


def test_a_run_that_was_paused_too_often_says_that_the_hour_has_to_pass() -> None:
    run = refused_run((used_up(make_daily()), 1))
    hold(run, not_before=NOW + HOUR)
    said = why(run)
    assert "It was paused so often within an hour that it waits until the hour has passed." in said.answer
    assert said.next_at == NOW + HOUR


def test_quiet_hours_are_named_as_such() -> None:
    schedule = make_schedule(quiet_from=time(11), quiet_until=time(13))
    run = refused_run((used_up(make_daily()), 1), schedule=schedule)
    hold(run, not_before=NOW + HOUR)
    assert "Its schedule has quiet hours until 2026-06-01 13:00:00 UTC." in why(run).answer


def test_a_delay_that_has_passed_delays_no_more() -> None:
    run = refused_run((used_up(make_daily()), 1))
    hold(run, not_before=NOW)
    assert why(run).situation is Situation.WAITING_FOR_QUOTA


# --- resumed ---------------------------------------------------------------------------------------------------


def resumed_by_hand(run: TaskRun, quota: Quota) -> TaskRun:
    """Raise the limit, and let a person resume the run."""
    charging.set_limit(quota.key, 400, now=NOW)
    assert operations.resume(run, now=NOW, actor="ada") == operations.Resumed.RESUMED
    run.refresh_from_db()
    return run


def test_a_resumed_run_says_since_when_by_what_and_until_when_it_has_to_begin() -> None:
    quota = used_up(make_daily(100, key="x"))
    run = resumed_by_hand(refused_run((quota, 1)), quota)
    said = why(run)
    assert said.situation is Situation.RESUMING
    assert said.answer == (
        f"Run #{run.pk} is resuming since 2026-06-01 12:00:00 UTC (by hand). Resumed by ada."
        f" Run #{run.pk} is due since 2026-06-01 12:00:00 UTC and not launched yet."
        " If no worker has begun it by 2026-06-01 12:05:02 UTC, it is paused again and resumed after a delay."
    )
    assert next_in_words(said, NOW) == "The next scan launches it."


def test_a_resumed_run_that_waits_for_its_place_in_the_spread_says_when_it_starts() -> None:
    quota = used_up(make_daily(100, key="x", spread_seconds=60))
    runs = [refused_run((quota, 1)), refused_run((quota, 1))]
    charging.set_limit("x", 300, now=NOW)
    assert resuming.resume(quota.pk, Resumption(EventTrigger.QUOTA_EDGE, "It is back."), now=NOW) == 2
    last = max(TaskRun.objects.filter(pk__in=[run.pk for run in runs]), key=lambda run: run.due_at or NOW)
    said = why(last)
    assert said.situation is Situation.RESUMING
    assert said.next_step == "It starts"
    assert said.next_at == last.due_at


def test_a_resumed_run_that_nobody_launches_says_that_first() -> None:
    quota = used_up(make_daily(100, key="x"))
    run = resumed_by_hand(refused_run((quota, 1)), quota)
    said = explain_run(run, now=NOW + MINUTE, scans=Scans(launch=Scan(NOW - HOUR)))
    assert said.situation is Situation.NOBODY_LAUNCHES
    assert "is resuming since" in said.answer


def test_a_resumed_run_past_its_deadline_is_paused_again() -> None:
    quota = used_up(make_daily(100, key="x"))
    run = resumed_by_hand(refused_run((quota, 1)), quota)
    said = why(run, now=NOW + HOUR)
    assert "No worker has begun it by its deadline, 2026-06-01 12:05:02 UTC." in said.answer
    assert said.next_step == "The next scan pauses it again; it is resumed after a delay"
