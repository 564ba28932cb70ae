"""Mutations of scheduler.transitions: who wins a run, and what is written of it."""

from functools import partial

from tests.mutations import Mutation, Subject

CONSTRAINED = (
    "run_due_only_while_waiting and run_leased_only_if_due_or_running say that a leased run which waits is due"
)
IN_ORDER_ALREADY = "rows come as they were locked, in the order of their ids, though only ORDER BY promises that"

_statement = partial(Mutation, "scheduler/transition_statements.py")
_move = partial(Mutation, "scheduler/transitions.py")

SUBJECT = Subject(
    tests=(
        "tests/scheduler/test_transitions.py",
        "tests/scheduler/test_beginning.py",
        "tests/scheduler/test_running.py",
        "tests/races/test_runs.py",
        "tests/scheduler/test_executing_hints.py",
        "tests/scheduler/test_attention.py",
        "tests/scheduler/test_notices.py",
        "tests/races/test_notices.py",
    ),
    mutations=(
        # who may be moved
        _statement("NULL AND run.due_at IS NOT NULL AND run.lease", "NULL AND run.lease", CONSTRAINED),
        _statement(" IS NOT NULL AND run.lease_expires_at IS NOT NULL", " IS NOT NULL"),
        _statement('LAUNCHED = "run.finished_at IS NULL AND ', 'LAUNCHED = "', CONSTRAINED),
        _statement('UNENDED = "run.finished_at IS NULL"', 'UNENDED = "true"'),
        _statement('ASKED = "run.finished_at IS NULL AND ', 'ASKED = "'),
        _statement(" AND run.cancel_requested_at IS NULL", ""),
        _statement("WHERE run.state = ANY(%s) AND", "WHERE (run.state = ANY(%s) OR true) AND"),
        _statement(" AND (claim.token IS NULL OR claim.token = run.lease_token)", ""),
        _statement("claim.token = run.lease_token", "claim.token <= run.lease_token"),
        _statement("claim.token = run.lease_token", "claim.token >= run.lease_token"),
        _statement("(claim.token IS NULL OR claim.token = run.lease_token)", "claim.token = run.lease_token"),
        _statement('"NULL" if claim.token is None', '"0" if claim.token is None'),
        _statement("ORDER BY run.id FOR UPDATE OF run", "FOR UPDATE OF run"),
        _statement("ORDER BY run.id FOR UPDATE OF run", "ORDER BY run.id"),
        _statement("FOR UPDATE OF run", "FOR UPDATE OF run SKIP LOCKED"),
        _move("sources_of(to).intersection(sources) if", "sources if"),
        _move("NO_CANCEL_ASKED if unless_cancel_asked else UNENDED", "UNENDED"),
        _move("[finished], written, [RunState.RUNNING], guard", "[finished], written, list(RunState), guard"),
        # what is written of the run
        _statement("candidate.state AS from_state", "run.state AS from_state"),
        _statement("candidate.due_at AS was_due_at", "run.due_at AS was_due_at"),
        _statement("started_at = COALESCE(run.started_at, %s)", "started_at = COALESCE(%s, run.started_at)"),
        _statement('"due_at": None,\n        "deadline_at": None', '"deadline_at": None'),
        _statement('"deadline_at": None,\n        "lease_owner": worker', '"lease_owner": worker'),
        _statement("('attempt_count',)", "()"),
        _statement("= run.{name} + 1", "= run.{name} + 2"),
        _move('"due_at": None,\n        ', ""),
        _move('"lease_owner": "",\n        ', ""),
        _move('"lease_pid": None,\n        ', ""),
        _move('"lease_expires_at": None,\n        ', ""),
        _move('"deadline_at": None,\n    ', ""),
        _move("(RunState.DONE, RunState.CANCELLED)", "(RunState.DONE,)"),
        _move("(RunState.DONE, RunState.CANCELLED)", "(RunState.CANCELLED,)"),
        _move(', "result": result}', "}"),
        # its attempt and its event
        _statement(" AND attempt.number = moved.attempt_count", ""),
        _statement('"\n    " AND attempt.finished_at IS NULL)"', ')"'),
        _statement("COALESCE(%s, attempt.output)", "%s"),
        _statement("attempt_count, lease_token, %s", "attempt_count, attempt_count, %s"),
        _statement("NULLIF(attempt_count, 0)", "attempt_count"),
        _statement(" FROM moved ORDER BY id)", " FROM moved)", IN_ORDER_ALREADY),
        _statement('FROM moved ORDER BY id")', 'FROM moved")', IN_ORDER_ALREADY),
        # who is told, together with it
        _move("with transaction.atomic():\n        moved", "if True:\n        moved"),
        _move("with transaction.atomic():\n        run =", "if True:\n        run ="),
        _move("run.attempt_count == 1", "run.attempt_count >= 1"),
        _move('ended="finished_at" in written', "ended=False"),
    ),
)
