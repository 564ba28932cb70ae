"""The verbs with runs that wait for quotas."""

from datetime import datetime

import pytest

from project.kit.clock import database_now
from quotas import charging
from quotas.models import Quota
from scheduler import operations, running
from scheduler.models import Pause, TaskRun
from scheduler.running import Outcome
from scheduler.states import AttemptOutcome, RunState
from tests.quotas.factories import make_quota, spend
from tests.scheduler.commands.asking import ME, Shell, between_looks
from tests.scheduler.factories import HOUR, WORKER, launched
from tests.scheduler.paused_runs import hold, refused_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def now() -> datetime:
    """The database's present instant."""
    return database_now()


@pytest.fixture
def fans(now: datetime) -> Quota:
    """A quota of 100 of which nothing is left."""
    quota = make_quota(100, now=now, key="fans")
    spend(quota, 100, now=now)
    return quota


def test_resume_lets_a_paused_run_go_on_whatever_held_it(shell: Shell, fans: Quota, now: datetime) -> None:
    run = refused_run((fans, 5), now=now)
    hold(run, held=Pause.Held.LIMIT, not_before=now + HOUR)
    charging.set_limit("fans", 300, now=now)
    assert shell.says("resume", run.pk, "--reason", "The boss agreed.") == (
        f"Run #{run.pk} is resumed; a worker takes it from its checkpoint."
    )
    event = run.events.latest("pk")
    assert (event.to_state, event.actor, event.reason) == (RunState.RESUMING, ME, "The boss agreed.")


def test_resume_says_that_a_run_whose_quota_has_too_little_waits_on(shell: Shell, fans: Quota, now: datetime) -> None:
    run = refused_run((fans, 5), now=now)
    hold(run, held=Pause.Held.LIMIT)
    assert "It waits for its quotas, and goes on by itself" in shell.says("resume", run.pk)
    assert shell.values("resume", run.pk)["state"] == RunState.PAUSED
    assert Pause.objects.get(run=run).held == ""


def test_resume_of_what_somebody_else_has_resumed_is_a_success(shell: Shell, fans: Quota, now: datetime) -> None:
    run = refused_run((fans, 5), now=now)
    charging.set_limit("fans", 300, now=now)
    operations.resume(run, now=now, actor="somebody else")
    assert shell.says("resume", run.pk) == f"Run #{run.pk} has gone on already; nothing is left to do."


def test_why_says_for_which_quota_a_run_waits(shell: Shell, fans: Quota, now: datetime) -> None:
    run = refused_run((fans, 5), now=now)
    said = shell.says("why", f"#{run.pk}")
    assert "It needs 5 of “fans”, which has 0 left: our own budget is used up." in said
    assert "waits for  5 of “fans”" in said
    assert f"quota #{fans.pk}" in said
    assert shell.values("why", f"#{run.pk}")["situation"] == "waiting_for_quota"


def test_cancel_ends_a_paused_run(shell: Shell, fans: Quota, now: datetime) -> None:
    run = refused_run((fans, 5), now=now)
    assert shell.says("cancel", run.pk) == f"Run #{run.pk} is cancelled."


def test_wait_says_once_that_it_is_paused_and_waits_on(
    shell: Shell, fans: Quota, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = refused_run((fans, 5), now=now)

    def resume() -> None:
        charging.set_limit("fans", 300, now=now)
        operations.resume(run, now=now, actor="ada")

    def work() -> None:
        assert running.begin(launched(TaskRun.objects.get(), now=now), WORKER, now=now)
        assert running.settle(TaskRun.objects.get(), Outcome(RunState.DONE, AttemptOutcome.DONE), now=now)

    between_looks(monkeypatch, lambda: refused_run((fans, 5), now=now).delete(), resume, work)
    shell.says("resume", run.pk, "--wait")
    assert shell.progress.splitlines()[:2] == [
        f"Run #{run.pk} is paused. {run.reason}",
        f"Run #{run.pk} is resuming. Resumed by ada.",
    ]
