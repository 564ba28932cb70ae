"""The job `celery` with a task of another application: a Redis and a worker of its own."""

import os
import signal
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis

from project.kit.clock import database_now
from project.services import Redis
from scheduler import operations
from scheduler.jobs import celery_remote
from scheduler.models import TaskRun
from scheduler.states import AttemptOutcome, RunState
from tests.processes import Processes, Started
from tests.scheduler.jobs.conftest import Executed, Runs, meanwhile, wait_until

pytestmark = pytest.mark.slow


class Shop:
    """The other application as a schedule's parameters describe it."""

    def __init__(self, server: Redis, processes: Processes) -> None:
        self.server, self._processes = server, processes
        self.broker = server.url
        self.backend = server.url.removesuffix("/0") + "/1"

    def params(self, task: str, *args: Any, **params: Any) -> dict[str, Any]:
        return {
            "task": task,
            "args": list(args),
            "broker_url": self.broker,
            "queue": "shop",
            "transport_options": {"global_keyprefix": "shop:"},
            "result_backend": self.backend,
            "result_backend_options": {"global_keyprefix": "shop-results:"},
            **params,
        }

    def start_worker(self) -> Started:
        command = f"{sys.executable} -m celery -A tests.scheduler.jobs.elsewhere worker --concurrency 1 --loglevel info"
        worker = self._processes.run(
            "shop", f"exec {command}", ELSEWHERE_BROKER=self.broker, ELSEWHERE_BACKEND=self.backend
        )
        wait_until(lambda: " ready." in worker.output, "the other application's worker")
        return worker

    def waiting(self) -> int:
        with redis.Redis.from_url(self.broker) as client:
            return int(client.llen("shop:shop"))


@pytest.fixture
def shop(redis_server: Redis, processes: Processes) -> Iterator[Shop]:
    return Shop(redis_server, processes)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a slot of a worker end at once."""
    monkeypatch.setattr(celery_remote, "SLOT_SECONDS", 0.0)


def cancel(run: TaskRun) -> bool:
    return operations.cancel(run, now=database_now(), actor="a test")


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


class TestCancel:
    def test_a_running_one_is_revoked_and_terminated(self, runs: Runs, shop: Shop, tmp_path: Path) -> None:
        worker = shop.start_worker()
        marks = tmp_path / "marks"
        run = runs.open("celery", shop.params("shop.wait", str(marks), str(tmp_path / "never"), terminate=True))

        def cancel_when_begun() -> None:
            wait_until(marks.exists, "the task's start")
            cancel(run)

        with meanwhile(cancel_when_begun):
            executed = runs.execute(run)

        assert executed.state == RunState.CANCELLED
        assert "asked the workers of its application to revoke" in executed.output
        wait_until(lambda: "Terminating" in worker.output, "the worker's word on the revoke")

    def test_one_that_is_put_off_is_executed_once_more_to_revoke(
        self, runs: Runs, shop: Shop, tmp_path: Path, impatient: None
    ) -> None:
        worker = shop.start_worker()
        marks = tmp_path / "marks"
        params = shop.params("shop.wait", str(marks), str(tmp_path / "never"), terminate=True)
        run = runs.perform("celery", params).run
        wait_until(marks.exists, "the task's start")

        assert not cancel(run)
        due = TaskRun.objects.get(pk=run.pk)
        assert due.state == RunState.PENDING
        assert due.due_at <= database_now()

        assert runs.execute(run).state == RunState.CANCELLED
        wait_until(lambda: "Terminating" in worker.output, "the worker's word on the revoke")

    def test_a_second_cancel_does_not_wait_for_that(self, runs: Runs, shop: Shop, impatient: None) -> None:
        run = runs.perform("celery", shop.params("shop.add", 2, 3)).run

        assert not cancel(run)
        assert cancel(run)
        assert TaskRun.objects.get(pk=run.pk).state == RunState.CANCELLED

    def test_one_whose_broker_is_away_is_cancelled_and_says_what_was_not_done(
        self, runs: Runs, shop: Shop, impatient: None
    ) -> None:
        run = runs.perform("celery", shop.params("shop.add", 2, 3)).run
        shop.server.stop()
        cancel(run)

        executed = runs.execute(run)

        assert executed.state == RunState.CANCELLED
        assert "could not be revoked" in executed.output


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


class TestTrouble:
    def test_a_result_backend_that_is_away_at_first_fails_before_anything_is_sent(self, runs: Runs, shop: Shop) -> None:
        executed = runs.perform("celery", shop.params("shop.add", 2, 3, result_backend="redis://:s3cret@127.0.0.1:1/0"))

        assert executed.state == RunState.FAILED
        assert executed.attempt.error.startswith("The result backend of the other application cannot be used: ")
        assert "Connection refused" in executed.attempt.error
        assert shop.waiting() == 0

    def test_a_result_backend_that_is_away_later_is_borne(self, runs: Runs, shop: Shop, impatient: None) -> None:
        run = runs.perform("celery", shop.params("shop.add", 2, 3)).run
        shop.server.stop()

        executed = runs.execute(run)

        assert executed.state == RunState.DEFERRED
        assert "cannot be used" in executed.run.reason

    def test_a_broker_that_hangs_is_given_up(self, runs: Runs, shop: Shop) -> None:
        os.kill(shop.server.process.pid, signal.SIGSTOP)
        try:
            executed = runs.perform(
                "celery", shop.params("shop.add", 2, 3, result_backend=None, result_backend_options={})
            )
        finally:
            os.kill(shop.server.process.pid, signal.SIGCONT)

        assert executed.state == RunState.FAILED
        assert executed.attempt.error.startswith("The broker of the other application cannot be used: ")

    @pytest.mark.parametrize(
        "url",
        [
            "redis://someone:s3cret@127.0.0.1:1/0",
            "redis://:s3cret@{server}/0",
            "redis://:s3cr%65t@{server}/0",
            "amqp://someone:s3cret@127.0.0.1:1//",
        ],
    )
    def test_no_credential_is_in_what_people_read(self, runs: Runs, shop: Shop, url: str) -> None:
        url = url.replace("{server}", f"127.0.0.1:{shop.server.port}")

        as_broker = runs.perform(
            "celery", shop.params("shop.add", 2, 3, broker_url=url, result_backend=None, result_backend_options={})
        )
        followed: list[Executed] = []
        if url.startswith("redis"):
            followed.append(runs.perform("celery", shop.params("shop.add", 2, 3, result_backend=url)))

        for executed in [as_broker, *followed]:
            assert executed.state == RunState.FAILED
            assert "s3cret" not in executed.everything
            assert "s3cr%65t" not in executed.everything

    def test_its_connections_are_closed(self, runs: Runs, shop: Shop, impatient: None) -> None:
        run = runs.perform("celery", shop.params("shop.add", 2, 3)).run
        before = len(os.listdir("/proc/self/fd"))

        for _ in range(5):
            run = runs.execute(run).run

        assert len(os.listdir("/proc/self/fd")) <= before
