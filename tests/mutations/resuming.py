"""Mutations of scheduler.resuming, and of how scheduler.waits finds who waits: once each, and only who may go on."""

from functools import partial

from tests.mutations import Mutation, Subject

_resume = partial(Mutation, "scheduler/resuming.py")
_wait = partial(Mutation, "scheduler/waits.py")

_BOOKS = "        books = open_books_of_all({link for chain in chains.values() for link in chain}, now)\n"
_READ = (
    "        # Read under the locks: whoever resumed before us holds them until his runs are moved.\n"
    "        runs = [run for run in paused_runs(free_to_go(waits, now)) if run.amounts.keys() <= chains.keys()]\n"
)

SUBJECT = Subject(
    tests=(
        "tests/scheduler/test_resuming.py",
        "tests/scheduler/test_resuming_what_fits.py",
        "tests/scheduler/test_resuming_by_hand.py",
        "tests/scheduler/test_pausing.py",
        "tests/scheduler/test_holding_back.py",
        "tests/scheduler/test_quiet_hours.py",
        "tests/races/test_resuming.py",
        "tests/races/test_runs.py",
    ),
    mutations=(
        # who waits
        _wait('quota__in=below(quota_id)).values("run")', 'quota=quota_id).values("run")'),
        _wait(", run__state=RunState.PAUSED)", ")"),
        _wait('OuterRef("run__exclusive_key"), finished_at__isnull=True)', 'OuterRef("run__exclusive_key"))'),
        _wait(".exclude(Exists(older))", ""),
        _wait(".exclude(Exists(at_work))", ""),
        _wait("waits.filter(undelayed, run__pause__held", "waits.filter(run__pause__held"),
        _wait('undelayed, run__pause__held="", run', "undelayed, run"),
        _wait(", run__cancel_requested_at__isnull=True)", ")"),
        _resume("if run.amounts.keys() <= chains.keys()]", "]"),
        _resume("            waits = waits.filter(run=resumption.run_id)\n", "            pass\n"),
        # which edges
        _resume('Edge.objects.filter(handled_at__isnull=True).order_by("id")\n', 'Edge.objects.order_by("id")\n'),
        _resume("filter(quota=quota, handled_at__isnull=True)", "filter(quota=quota)"),
        _resume("handled_at=now if handled else None", "handled_at=now"),
        _resume("now=database_now()), robust=True)", "now=database_now()))"),
        # how many
        _resume("[: 1 if resumption.trial else BATCH]", "[:BATCH]"),
        _resume("resumption.trial or len(chosen) < BATCH", "len(chosen) < BATCH", "a trial chooses one"),
        _resume("len(chosen) < BATCH", "len(chosen) <= BATCH"),
        _resume("None if quota.kind == Kind.PERIODIC else timedelta", "timedelta"),
        _resume("    if quota.shadow:\n        return None\n", ""),
        _resume("quota.verdict == Verdict.INSUFFICIENT and not (trial and _may_be_tried(quota, now))", "False"),
        _resume("return quota.provider_unverified and (", "return ("),
        # and goes on
        _resume(_BOOKS + _READ, _READ + _BOOKS),
        _resume("        sources=[RunState.PAUSED],\n", "", "RESUMING is reached from PAUSED alone; it says so"),
        _resume('        counting=["lease_token"],\n', ""),
        _resume("        unless_cancel_asked=True,\n", ""),
        _resume(" if run.run_id in run_ids]\n    needs", "]\n    needs"),
        _resume(' AND run.state = %s"', ' AND (run.state = %s OR true)"', "they were moved in the same transaction"),
        _resume(
            'order_by("pk").select_for_update()', 'order_by("pk")', "by the present plan they are updated in that order"
        ),
        _resume('order_by("pk").select_for_update()', 'order_by("-pk").select_for_update()'),
    ),
)
