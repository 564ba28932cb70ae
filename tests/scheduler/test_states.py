"""The states in the code, in the diagram for people and in the database are the same."""

import re
from itertools import product
from pathlib import Path

import pytest
from django.conf import settings
from django.db import IntegrityError, connection, transaction

from scheduler.models import RunEvent, TaskRun
from scheduler.states import (
    COLOURS,
    EXCLUSIVE,
    LAUNCHABLE,
    TERMINAL,
    TRANSITIONS,
    RunState,
    sources_of,
)
from tests.scheduler.factories import make_run, make_schedule

PAGE = Path(settings.BASE_DIR, "docs", "states.md").read_text()
ARROWS = re.findall(r"^ +(\S+) --> (\S+?)(?::.*)?$", PAGE, re.MULTILINE)
END = "[*]"


def test_the_diagram_shows_exactly_the_transitions_of_the_code() -> None:
    drawn = {(source, target) for source, target in ARROWS if END not in (source, target)}
    coded = {(source.name, target.name) for source, targets in TRANSITIONS.items() for target in targets}
    assert drawn == coded


def test_the_diagram_begins_at_pending_and_ends_where_a_run_ends() -> None:
    assert [target for source, target in ARROWS if source == END] == ["PENDING"]
    ends = {source for source, target in ARROWS if target == END}
    assert ends == {state.name for state in TERMINAL} | {"FAILED"}


def test_no_arrow_is_drawn_twice() -> None:
    assert len(ARROWS) == len(set(ARROWS))


def test_the_table_explains_each_state_once_and_in_the_order_of_the_code() -> None:
    rows = re.findall(r"^\| ([A-Z_]+) \| (.+?) \| (.+?) \|$", PAGE, re.MULTILINE)
    assert [name for name, _, _ in rows] == [state.name for state in RunState]


def test_each_state_has_transitions_and_a_colour() -> None:
    assert set(TRANSITIONS) == set(COLOURS) == set(RunState)


def test_sources_are_the_transitions_read_backwards() -> None:
    assert all((source in sources_of(target)) == (target in TRANSITIONS[source]) for source, target in PAIRS)


def test_no_state_leads_to_itself() -> None:
    assert not any(state in TRANSITIONS[state] for state in RunState)


def test_every_state_is_reached_from_pending_and_a_way_out_leads_to_an_end() -> None:
    assert _reachable(RunState.PENDING) == set(RunState)
    assert all(_reachable(state) & (TERMINAL | {RunState.FAILED}) for state in RunState)


def test_a_person_may_cancel_whatever_has_not_ended() -> None:
    assert {state for state, targets in TRANSITIONS.items() if RunState.CANCELLED in targets} == (
        set(RunState) - TERMINAL
    )


def test_what_the_launcher_launches_may_run_and_what_waits_for_a_person_is_not_launched() -> None:
    assert sources_of(RunState.RUNNING) == LAUNCHABLE
    assert not LAUNCHABLE & {RunState.AWAITING_APPROVAL, RunState.SUSPENDED}
    assert not LAUNCHABLE & TERMINAL


PAIRS = list(product(RunState, RunState))


def _reachable(start: RunState) -> set[RunState]:
    seen, new = {start}, {start}
    while new:
        new = {target for state in new for target in TRANSITIONS[state]} - seen
        seen |= new
    return seen


# --- the database says the same ----------------------------------------------------------------------------------


def _constraint(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT COALESCE((SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = %(name)s),"
            " (SELECT indexdef FROM pg_indexes WHERE indexname = %(name)s))",
            {"name": name},
        )
        (definition,) = cursor.fetchone()
        return str(definition)


def _states_in(text: str) -> set[str]:
    return set(re.findall(r"'([a-z_]+)'", text))


@pytest.mark.django_db
def test_the_database_knows_exactly_the_states_of_the_code() -> None:
    assert _states_in(_constraint("run_state_is_known")) == set(RunState.values)


@pytest.mark.django_db
def test_the_database_ends_a_run_in_exactly_the_terminal_states_and_in_failed() -> None:
    assert _states_in(_constraint("run_ended_says_when")) == TERMINAL | {RunState.FAILED}


@pytest.mark.django_db
def test_the_database_keeps_runs_of_one_key_apart_in_exactly_the_exclusive_states() -> None:
    assert _states_in(_constraint("run_alone_on_its_key")) == EXCLUSIVE


@pytest.mark.django_db
def test_the_database_wants_a_due_time_in_exactly_the_launchable_states() -> None:
    assert _states_in(_constraint("run_due_only_while_waiting")) == LAUNCHABLE


@pytest.mark.django_db
@pytest.mark.parametrize("state", RunState)
def test_a_consistent_row_of_each_state_is_accepted(state: RunState) -> None:
    run = make_run(state)
    assert TaskRun.objects.get(pk=run.pk).state == state
    assert (run.finished_at is not None) == (state in TERMINAL)


@pytest.mark.django_db
def test_an_unknown_state_is_refused() -> None:
    with pytest.raises(IntegrityError, match="run_state_is_known"):
        _force(make_run(RunState.PAUSED), "state = 'waiting'")


def _force(run: TaskRun, assignment: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE scheduler_taskrun SET {assignment} WHERE id = %s", [run.pk])  # noqa: S608


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("state", "assignment", "constraint"),
    [
        (RunState.PENDING, "finished_at = now()", "run_ended_says_when"),
        (RunState.RUNNING, "finished_at = now()", "run_ended_says_when"),
        (RunState.FAILED, "finished_at = now()", "run_ended_says_when"),
        (RunState.FAILED, "due_at = NULL", "run_ended_says_when"),
        (RunState.PENDING, "state = 'done', due_at = NULL", "run_ended_says_when"),
        (RunState.PENDING, "state = 'cancelled', due_at = NULL", "run_ended_says_when"),
        (RunState.PENDING, "due_at = NULL", "run_due_only_while_waiting"),
        (RunState.DEFERRED, "due_at = NULL", "run_due_only_while_waiting"),
        (RunState.RESUMING, "due_at = NULL", "run_due_only_while_waiting"),
        (RunState.PAUSED, "due_at = now()", "run_due_only_while_waiting"),
        (RunState.RUNNING, "due_at = now()", "run_due_only_while_waiting"),
        (RunState.SUSPENDED, "due_at = now()", "run_due_only_while_waiting"),
        (RunState.AWAITING_APPROVAL, "due_at = now()", "run_due_only_while_waiting"),
        (RunState.RUNNING, "lease_expires_at = NULL", "run_running_is_leased"),
        (RunState.RUNNING, "lease_owner = ''", "run_running_is_leased"),
        (RunState.SUSPENDED, "lease_expires_at = now()", "run_leased_only_if_due_or_running"),
    ],
)
def test_a_row_whose_columns_contradict_its_state_is_refused(state: RunState, assignment: str, constraint: str) -> None:
    run = make_run(state)
    with pytest.raises(IntegrityError, match=constraint):
        _force(run, assignment)


@pytest.mark.django_db
@pytest.mark.parametrize("second", sorted(EXCLUSIVE))
@pytest.mark.parametrize("first", sorted(EXCLUSIVE))
def test_two_runs_of_a_key_are_never_both_in_an_exclusive_state(first: RunState, second: RunState) -> None:
    schedule = make_schedule()
    make_run(RunState(first), schedule=schedule)
    with pytest.raises(IntegrityError, match="run_alone_on_its_key"):
        make_run(RunState(second), schedule=schedule)


@pytest.mark.django_db
def test_an_event_is_not_saved_by_hand() -> None:
    run = make_run()
    with pytest.raises(TypeError, match=r"scheduler\.transitions"):
        RunEvent.objects.get(run=run).save()
