"""What happens to runs is told to those who asked for it, once, with the state that it tells of; and costs nothing
where nobody asked.
"""

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from alerts import noticing
from alerts.models import Alert, Channel, Event
from alerts.noticing import Subscriptions
from scheduler import firing, operations, rescuing, running
from scheduler.models import Fire, TaskRun
from scheduler.notices import Kind
from scheduler.running import Outcome
from scheduler.states import AttemptOutcome, EventTrigger, RunState
from scheduler.transitions import Claim, move
from tests.alerts.factories import make_channel
from tests.scheduler.factories import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    WORKER,
    claim_of,
    launched,
    make_calendar,
    make_question,
    make_run,
    make_schedule,
)

pytestmark = pytest.mark.django_db

DONE = Outcome(RunState.DONE, AttemptOutcome.DONE)


@pytest.fixture(autouse=True)
def _known_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an earlier test's channels wanted is not known any more."""
    monkeypatch.setattr(noticing, "subscriptions", Subscriptions())


@pytest.fixture
def wanted() -> Channel:
    """A channel that wants every notice of runs."""
    return make_channel(kinds=list(Kind))


@pytest.fixture
def nobody() -> None:
    """A channel that wants problems; that it wants no notices is known already."""
    make_channel()
    assert not noticing.is_wanted(Kind.RUN_STARTED)


def told() -> list[tuple[str, str]]:
    """Return the notices: kinds and sentences, in their order."""
    return list(Event.objects.filter(telling="notice").order_by("deliveries__id").values_list("kind", "text"))


def begun(run: TaskRun, claim: Claim) -> TaskRun:
    """Begin the launched run a moment later."""
    found = running.begin(claim, WORKER, now=NOW + SECOND)
    assert found is not None
    return found


# --- what is told --------------------------------------------------------------------------------------------------


def test_of_a_run_it_is_told_that_it_has_begun_and_how_long_it_took(wanted: Channel) -> None:
    run = operations.run_job("test.noop", {}, now=NOW, actor="ada")
    running.settle(begun(run, launched(run)), DONE, now=NOW + 3 * MINUTE + SECOND)
    assert told() == [
        ("run_started", f"It has begun on the worker {WORKER.name}."),
        ("run_succeeded", "Done in 3 min."),
    ]
    assert not Alert.objects.exists()
    for event in Event.objects.all():
        assert (event.title, event.labels) == (
            f"#{run.pk} test.noop 2026-06-01",
            {"name": "test.noop", "job": "test.noop"},
        )
        assert event.url == f"/admin/scheduler/taskrun/{run.pk}/change/"
        assert event.facts == [["How it came", "Started by hand by ada"], ["Data day", "2026-06-01"], ["Attempt", "1"]]


def test_a_hint_that_comes_again_and_an_attempt_that_follows_are_no_further_beginnings(wanted: Channel) -> None:
    run = make_run(retry_delays=[60])
    claim = launched(run)
    first = begun(run, claim)
    assert running.begin(claim, WORKER, now=NOW) is None
    running.settle(first, Outcome(RunState.FAILED, AttemptOutcome.FAILED), now=NOW)
    run.refresh_from_db()
    begun(run, launched(run))
    assert [kind for kind, _ in told()] == ["run_started"]


def test_a_run_whose_key_is_taken_has_not_begun(wanted: Channel) -> None:
    make_run(RunState.RUNNING, exclusive_key="a")
    later = make_run(exclusive_key="a")
    assert running.begin(launched(later), WORKER, now=NOW) is None
    assert told() == []


def test_who_cancelled_a_run_and_why_is_told(wanted: Channel) -> None:
    operations.cancel(make_run(), now=NOW, actor="ada", reason="Wrong day.")
    asked, lost = make_run(RunState.RUNNING), make_run(RunState.RUNNING)
    for run in (asked, lost):
        operations.cancel(run, now=NOW, actor="bob")
    running.settle(asked, Outcome(RunState.CANCELLED, AttemptOutcome.CANCELLED), now=NOW)
    rescuing.free(list(TaskRun.objects.filter(pk=lost.pk)), now=NOW)
    assert told() == [
        ("run_cancelled", "Wrong day."),
        ("run_cancelled", "Cancelled while it was running."),
        ("run_cancelled", "The worker was lost; a cancel had been asked for."),
    ]
    by = [event.facts[0] for event in Event.objects.order_by("deliveries__id")]
    assert by == [["Cancelled by", "ada"], ["Cancelled by", "bob"], ["Cancelled by", "bob"]]


def test_a_rejected_question_is_a_cancelled_run(wanted: Channel) -> None:
    operations.answer(make_question(), approve=False, now=NOW, actor="ada", why="Not today")
    assert told() == [("run_cancelled", "Rejected by ada: Not today")]


@pytest.mark.parametrize("reason", ["overlap", "excluded", "already done"])
def test_a_due_time_that_gives_way_is_told_with_its_reason(wanted: Channel, reason: str) -> None:
    schedule = make_schedule(due=NOW, cron="0 12 * * *", timezone="Europe/Berlin", overlap="skip")
    schedule.cron = "0 14 * * *"
    match reason:
        case "overlap":
            make_run(RunState.PENDING, schedule=schedule)
        case "excluded":
            schedule.calendar = make_calendar("2026-06-01")
        case "already done":
            make_run(RunState.DONE, schedule=schedule, started_at=NOW)
    schedule.save()
    firing.fire_all_due(now=NOW)
    event = Event.objects.get()
    assert (event.kind, event.title, event.text) == ("run_skipped", schedule.name, Fire.objects.get().reason)
    assert event.facts == [["Due at", "2026-06-01 14:00:00 Europe/Berlin"]]
    assert event.url == f"/admin/scheduler/schedule/{schedule.pk}/change/"


def test_of_a_run_that_is_made_up_it_is_told_how_late(wanted: Channel) -> None:
    on_time, late = make_schedule(due=NOW, cron="0 12 * * *"), make_schedule(due=NOW - 3 * MINUTE, cron="57 11 * * *")
    firing.fire_all_due(now=NOW)
    run = TaskRun.objects.get(schedule=late)
    assert TaskRun.objects.filter(schedule=on_time).exists()
    assert told() == [("run_made_up", "Made up after a miss, 3 min late.")]
    assert Event.objects.get().title == str(run)


def test_what_is_missed_beyond_the_grace_is_a_problem_and_no_notice(wanted: Channel) -> None:
    make_schedule(due=NOW - DAY, cron="0 12 1 * *", misfire_grace_seconds=60)
    firing.fire_all_due(now=NOW + HOUR)
    assert told() == []
    assert list(Alert.objects.values_list("kind", flat=True)) == ["schedule_missed"]


# --- all or nothing ------------------------------------------------------------------------------------------------


def test_a_notice_is_undone_with_the_transition_that_it_tells_of(wanted: Channel) -> None:
    run = make_run()
    claim = launched(run)
    with transaction.atomic():
        begun(run, claim)
        transaction.set_rollback(True)
    assert told() == []
    assert TaskRun.objects.get(pk=run.pk).state == RunState.PENDING


def test_a_transition_that_somebody_else_won_tells_nothing(wanted: Channel) -> None:
    run = make_run(RunState.RUNNING)
    TaskRun.objects.filter(pk=run.pk).update(lease_token=run.lease_token + 1)
    assert not running.settle(run, DONE, now=NOW)
    assert told() == []


# --- what it costs -------------------------------------------------------------------------------------------------


def statements_of_one_run() -> int:
    """Return how many statements it takes to begin a run and to settle it."""
    run = make_run()
    claim = launched(run)
    with CaptureQueriesContext(connection) as captured:
        running.settle(begun(run, claim), DONE, now=NOW)
    return len([query for query in captured if "SAVEPOINT" not in query["sql"]])


@pytest.mark.usefixtures("nobody")
def test_where_nobody_asked_a_run_is_begun_and_settled_by_one_statement_each() -> None:
    assert statements_of_one_run() == 2


def test_where_somebody_asked_each_notice_is_read_and_written_by_one_statement_each(wanted: Channel) -> None:
    assert noticing.is_wanted(Kind.RUN_STARTED)
    assert statements_of_one_run() == 2 + 2 * 2


@pytest.mark.usefixtures("nobody")
def test_where_nobody_asked_for_it_a_fire_costs_no_further_question() -> None:
    schedules = [make_schedule(due=NOW - 3 * MINUTE, cron="57 11 * * *", overlap="skip") for _ in range(2)]
    make_run(schedule=schedules[0])
    with CaptureQueriesContext(connection) as captured:
        firing.fire_all_due(now=NOW)
    assert not [query for query in captured if "alerts_" in query["sql"]]


def test_many_runs_are_told_by_as_many_statements_as_one(wanted: Channel) -> None:
    assert noticing.is_wanted(Kind.RUN_CANCELLED)
    counts = []
    for size in (1, 20):
        runs = [make_run() for _ in range(size)]
        with CaptureQueriesContext(connection) as captured:
            move(map(claim_of, runs), RunState.CANCELLED, now=NOW, trigger=EventTrigger.MANUAL, actor="ada")
        counts.append(len(captured))
    assert counts[0] == counts[1]
    assert len(told()) == 21
