"""`manage.py backfill`: a range, and as one again."""

from datetime import date

import pytest

from project.kit.clock import database_now
from scheduler.models import Backfill, TaskRun
from scheduler.states import RunState
from tests.scheduler.commands.asking import ME, Shell, between_looks
from tests.scheduler.factories import make_schedule

pytestmark = pytest.mark.django_db


def test_a_backfill_opens_a_run_a_day_and_says_how_many(shell: Shell) -> None:
    schedule = make_schedule(name="Nightly")
    values = shell.values("backfill", "Nightly", "2026-05-01", "2026-05-03", "--at-once", 2, "--reason", "New rule")
    backfill = Backfill.objects.get(pk=values["backfill"])
    assert (values["runs"], values["ended"]) == (3, 0)
    assert (backfill.schedule, backfill.parallel, backfill.created_by, backfill.reason) == (
        schedule,
        2,
        ME,
        "New rule",
    )
    days = TaskRun.objects.order_by("pk").values_list("stat_date", flat=True)
    assert list(days) == [date(2026, 5, 1), date(2026, 5, 2), date(2026, 5, 3)]


def test_days_that_are_done_are_done_again_only_if_asked(shell: Shell) -> None:
    make_schedule(name="Nightly")
    shell.says("backfill", "Nightly", "2026-05-01", "2026-05-01")
    TaskRun.objects.update(state=RunState.DONE, due_at=None, finished_at=database_now())
    assert "Every day of the range is done" in shell.refuses("backfill", "Nightly", "2026-05-01", "2026-05-01")
    assert shell.values("backfill", "Nightly", "2026-05-01", "2026-05-01", "--again")["runs"] == 1


def test_a_backfill_is_cancelled_as_one(shell: Shell) -> None:
    make_schedule(name="Nightly")
    backfill = shell.values("backfill", "Nightly", "2026-05-01", "2026-05-03")["backfill"]
    assert shell.values("backfill", "--cancel", backfill)["cancelled_runs"] == 3
    assert set(TaskRun.objects.values_list("state", flat=True)) == {RunState.CANCELLED}
    assert Backfill.objects.get().cancelled_by == ME
    assert "Nothing is left of backfill" in shell.refuses("backfill", "--cancel", backfill)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (["Nightly"], "backfill NAME FIRST LAST"),
        (["Nightly", "2026-05-02", "2026-05-01"], "The range ends (2026-05-01) before it begins"),
        (["Nightly", "2026-05-01", "2026-05-01", "--at-once", "0"], "At least one run at once is needed."),
        (["Nightly", "--cancel", "1"], "--cancel takes the id of a backfill and no schedule"),
        (["--cancel", "nonsense"], "There is no backfill “nonsense”."),
    ],
)
def test_what_makes_no_sense_is_one_sentence(shell: Shell, asked: list[str], sentence: str) -> None:
    make_schedule(name="Nightly")
    assert sentence in shell.refuses("backfill", *asked)


@pytest.mark.parametrize(("last", "status"), [(RunState.DONE, 0), (RunState.CANCELLED, 3)])
def test_wait_counts_the_runs_that_have_ended(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, last: RunState, status: int
) -> None:
    def end(day: int, state: RunState) -> None:
        TaskRun.objects.filter(stat_date=date(2026, 5, day)).update(
            state=state, due_at=None, finished_at=database_now()
        )

    make_schedule(name="Nightly")
    between_looks(monkeypatch, lambda: end(1, RunState.DONE), lambda: end(2, last))
    said = shell.says("backfill", "Nightly", "2026-05-01", "2026-05-02", "--wait", status=status)
    assert "2 runs, 2 ended" in said
    assert "1 of 2" in shell.progress
