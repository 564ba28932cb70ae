"""The job `celery` with a task of another application: cancels, and servers that are away."""

import os
import signal
from pathlib import Path

import pytest

from project.kit.clock import database_now
from scheduler import operations
from scheduler.models import TaskRun
from scheduler.states import RunState
from tests.scheduler.jobs.conftest import Executed, Runs
from tests.scheduler.jobs.shop import Shop
from tests.scheduler.jobs.waiting import meanwhile, wait_until

pytestmark = pytest.mark.slow


def cancel(run: TaskRun) -> bool:
    return operations.cancel(run, now=database_now(), actor="a test")


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
