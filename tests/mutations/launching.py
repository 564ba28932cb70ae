"""Mutations of scheduler.launching: which due runs are leased, and when a hint counts as lost."""

from functools import partial

from tests.mutations import Mutation, Subject

_launch = partial(Mutation, "scheduler/launching.py")

SUBJECT = Subject(
    tests=(
        "tests/scheduler/test_launching.py",
        "tests/scheduler/test_launching_outages.py",
        "tests/scheduler/test_shortness.py",
        "tests/scheduler/test_holding_back.py",
        "tests/races/test_leases.py",
        "tests/races/test_runs.py",
    ),
    mutations=(
        # which run
        _launch("run.due_at <= %s", "run.due_at < %s"),
        _launch("(run.lease_expires_at IS NULL OR run.lease_expires_at < %s)", "run.lease_expires_at < %s"),
        _launch("run.lease_expires_at < %s)", "run.lease_expires_at <= %s)"),
        _launch("OR run.lease_expires_at < %s)", "OR run.lease_expires_at IS DISTINCT FROM %s)"),
        _launch("run.lease_expires_at < %s)", "run.lease_expires_at < %s - interval '1 year')"),
        _launch("(run.exclusive_key IS NULL OR NOT EXISTS (", "(NOT EXISTS (", "nothing equals a key that is null"),
        _launch("  AND older.finished_at IS NULL AND older.id", "  AND older.id"),
        _launch("older.id < run.id", "older.id <> run.id"),
        _launch("older.id < run.id", "older.id > run.id"),
        _launch(" SKIP LOCKED", ""),
        _launch(" FOR UPDATE OF run SKIP LOCKED", ""),
        _launch("run.lease_token + 1", "run.lease_token"),
        _launch("leased ORDER BY priority DESC, due_at, id", "leased ORDER BY id"),
        # which hint is lost
        _launch("return now + 2 * LAUNCH_LEASE", "return now"),
        _launch("oldest is None:\n        return now", "oldest is None:\n        return now - LAUNCH_LEASE"),
        _launch("return min(now, datetime", "return max(now, datetime"),
        _launch(", nx=True)", ")"),
        _launch("        lost_before = min(lost_before, now)  # what was launched just now is not lost\n", ""),
        # how many
        _launch("launched.hints > room / 2", "launched.hints > room", "only how far one scan fills the queue"),
        _launch("len(leased) < max(wanted, 1)", "len(leased) < wanted"),
    ),
)
