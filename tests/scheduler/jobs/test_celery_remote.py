"""The job `celery` with a task of another application, which is sent once and followed."""

from datetime import timedelta
from pathlib import Path

import pytest

from project.kit.clock import database_now
from scheduler import operations
from scheduler.models import TaskRun
from scheduler.states import AttemptOutcome, RunState
from tests.scheduler.jobs.conftest import Runs
from tests.scheduler.jobs.shop import Shop
from tests.scheduler.jobs.waiting import meanwhile, wait_until

pytestmark = pytest.mark.slow


def lose(run: TaskRun) -> None:
    """Make the run due again, as the rescue does after a crash."""
    TaskRun.objects.filter(pk=run.pk).update(
        state=RunState.PENDING, due_at=database_now(), lease_owner="", lease_expires_at=None
    )


def test_a_result_and_a_failure_come_back(runs: Runs, shop: Shop) -> None:
    shop.start_worker()

    added = runs.perform("celery", shop.params("shop.add", 2, 3))
    failed = runs.perform("celery", shop.params("shop.fail"))

    assert added.state == RunState.DONE, added.everything
    assert added.run.result == 5
    assert failed.attempt.error == "KeyError: 'no such shop'"
    assert "elsewhere.py" in failed.attempt.traceback


def test_a_retry_after_a_failure_sends_a_new_task(runs: Runs, shop: Shop) -> None:
    shop.start_worker()
    first = runs.perform("celery", shop.params("shop.fail"), retry_delays=[0])

    second = runs.execute(first.run)

    assert first.output.startswith("Sent shop.fail as ")
    assert second.output.startswith("Sent shop.fail as ")
    assert first.output != second.output


def test_a_slot_is_not_held_while_the_task_waits(runs: Runs, shop: Shop, impatient: None) -> None:
    executed = runs.perform("celery", shop.params("shop.add", 2, 3))
    for delay in (10, 20, 40, 60, 60):
        assert executed.state == RunState.DEFERRED
        assert executed.is_put_off_by(seconds=delay)
        executed = runs.execute(executed.run)

    assert executed.run.reason == "The task is PENDING in its application; asked again in 60 s."
    assert shop.waiting() == 1  # it was sent once
    shop.start_worker()
    wait_until(lambda: shop.waiting() == 0, "the task's start")
    wait_until(lambda: runs.execute(executed.run).state == RunState.DONE, "the result")
    assert TaskRun.objects.get(pk=executed.run.pk).result == 5


def test_a_run_whose_worker_is_killed_follows_what_was_sent(runs: Runs, shop: Shop, tmp_path: Path) -> None:
    shop.start_worker()
    marks, go = tmp_path / "marks", tmp_path / "go"
    run = runs.open("celery", shop.params("shop.wait", str(marks), str(go)))
    process = runs.execute_elsewhere(run)
    wait_until(marks.exists, "the task's start")
    wait_until(lambda: (TaskRun.objects.get(pk=run.pk).progress.get("celery") or {}).get("sent_at"), "the checkpoint")

    process.kill()
    process.wait()
    lose(run)
    with meanwhile(go.touch):
        executed = runs.execute(run)

    assert executed.state == RunState.DONE
    assert executed.run.result == "waited"
    assert len(marks.read_text().splitlines()) == 1


def test_a_crash_between_the_checkpoint_and_the_sending_sends_it_under_the_checkpointed_id(
    runs: Runs, shop: Shop
) -> None:
    shop.start_worker()
    run = runs.open("celery", shop.params("shop.add", 2, 3))
    sent = {"run_id": run.pk, "task_id": "chosen-before", "sent_at": None, "looks": 0}
    TaskRun.objects.filter(pk=run.pk).update(progress={"celery": sent})

    executed = runs.execute(run)

    assert executed.run.result == 5
    assert "Sent shop.add as chosen-before." in executed.output


def test_a_crash_after_the_sending_does_not_send_again_what_has_ended(runs: Runs, shop: Shop) -> None:
    shop.start_worker()
    done = runs.perform("celery", shop.params("shop.add", 2, 3))
    task_id = done.run.progress["celery"]["task_id"]
    run = runs.open("celery", shop.params("shop.add", 2, 3))
    sent = {"run_id": run.pk, "task_id": task_id, "sent_at": None, "looks": 0}
    TaskRun.objects.filter(pk=run.pk).update(progress={"celery": sent})

    executed = runs.execute(run)

    assert executed.run.result == 5
    assert "Sent" not in executed.output


def test_a_copy_of_the_progress_in_another_run_sends_a_task_of_its_own(runs: Runs, shop: Shop) -> None:
    shop.start_worker()
    done = runs.perform("celery", shop.params("shop.add", 2, 3))

    again = operations.run_again(done.run, now=database_now(), actor="a test", from_progress=True)

    assert "Sent shop.add as " in runs.execute(again).output


def test_one_that_does_not_end_in_its_time_is_revoked_and_fails(runs: Runs, shop: Shop, impatient: None) -> None:
    executed = runs.perform("celery", shop.params("shop.add", 2, 3, timeout_seconds=60))
    sent = executed.run.progress["celery"]
    long_ago = (database_now() - timedelta(seconds=61)).isoformat()
    TaskRun.objects.filter(pk=executed.run.pk).update(progress={"celery": {**sent, "sent_at": long_ago}})

    executed = runs.execute(executed.run)

    assert executed.attempt.error == "The task did not end within 60 s and was revoked."
    assert executed.run.progress == {"celery": None}


def test_a_timeout_of_the_attempt_revokes_it(runs: Runs, shop: Shop) -> None:
    executed = runs.perform("celery", shop.params("shop.add", 2, 3), timeout_seconds=2)

    assert executed.attempt.outcome == AttemptOutcome.TIMED_OUT
    assert "asked the workers of its application to revoke" in executed.output
    assert executed.run.progress == {"celery": None}


def test_a_stopping_worker_hands_it_back_and_does_not_revoke(runs: Runs, shop: Shop) -> None:
    run = runs.open("celery", shop.params("shop.add", 2, 3))

    def stop_when_sent() -> None:
        wait_until(lambda: shop.waiting() == 1, "the task in its queue")
        runs.signals.stop()

    with meanwhile(stop_when_sent):
        executed = runs.execute(run)

    assert executed.state == RunState.PENDING
    assert executed.attempt.outcome == AttemptOutcome.HANDED_BACK
    assert "revoke" not in executed.output


def test_without_a_result_backend_it_is_sent_and_the_run_says_so(runs: Runs, shop: Shop) -> None:
    executed = runs.perform("celery", shop.params("shop.add", 2, 3, result_backend=None, result_backend_options={}))

    assert executed.state == RunState.DONE
    assert executed.run.result["followed"] is False
    assert "[there is no result backend: how the task ends is not known here]" in executed.output
    assert shop.waiting() == 1


def test_it_goes_through_an_exchange_where_one_is_given(runs: Runs, shop: Shop) -> None:
    shop.start_worker()

    executed = runs.perform("celery", shop.params("shop.add", 2, 3, queue=None, exchange="shop", routing_key="shop"))

    assert executed.run.result == 5
