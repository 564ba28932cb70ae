"""Mutations of scheduler.firing and what it writes with: which instant fires, and what keeps it from opening a run."""

from functools import partial

from tests.mutations import Mutation, Subject

_fire = partial(Mutation, "scheduler/firing.py")
_open = partial(Mutation, "scheduler/opening.py")
_write = partial(Mutation, "scheduler/fires.py")

SUBJECT = Subject(
    tests=(
        "tests/scheduler/test_firing.py",
        "tests/scheduler/test_firing_obstacles.py",
        "tests/scheduler/test_firing_cases.py",
        "tests/scheduler/test_jitter.py",
        "tests/scheduler/test_opening.py",
        "tests/races/test_firing.py",
        "tests/scheduler/test_calendars.py",
    ),
    mutations=(
        # which instant
        _fire("max(trigger.latest_until(now) or claimed_at, claimed_at)", "trigger.latest_until(now) or claimed_at"),
        _fire("lateness > max(ON_TIME, grace)", "lateness >= max(ON_TIME, grace)"),
        _fire("lateness > max(ON_TIME, grace)", "lateness > grace"),
        _fire("lateness <= ON_TIME", "lateness < ON_TIME"),
        # whose turn it is
        _fire("claimed < batch", "claimed <= batch"),
        _fire("with transaction.atomic():\n        schedules", "if True:\n        schedules"),
        _fire("enabled=True, ", ""),
        _fire("skip_locked=True, ", ""),
        _fire('.select_for_update(skip_locked=True, of=["self"])', ""),
        _fire(" AND schedule.next_run_at = claim.claimed_at", ""),
        _fire(" if decision.schedule.pk in moved]", "]"),
        # what keeps it from opening a run
        _fire(
            "{**_overlaps(planned), **_already_done(planned), **_exclusions(planned, excluded)}",
            "{**_exclusions(planned, excluded), **_already_done(planned), **_overlaps(planned)}",
        ),
        _fire("reason and excluded.moved_to(schedule, planned_at) is None", "reason"),
        _fire("ANY(%s) AND finished_at IS NULL", "ANY(%s)"),
        _fire("ORDER BY exclusive_key, id", "ORDER BY exclusive_key, id DESC"),
        _fire(" AND state = %s", " AND (state = %s OR true)"),
        _fire("stat_date == data_day and started_at", "started_at"),
        _fire("started_at >= planned_at", "started_at > planned_at"),
        _fire("and started_at >= planned_at", ""),
        _fire(" and cron.is_fixed_time(d.trigger)", ""),
        # what is recorded
        _fire("if fire.outcome == FireOutcome.STARTED]", "if fire.outcome != FireOutcome.FAILED_TO_START]"),
        _write(" ON CONFLICT DO NOTHING", ""),
        # what it opens
        _fire("due_at=max(now, due_at)", "due_at=due_at"),
        _fire("    due_at += jitter(schedule, fire.fire_at)\n", ""),
    ),
)
