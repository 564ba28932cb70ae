"""The job `celery` with a task of this worker."""

import logging
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from celery import Task, current_app, shared_task
from celery.exceptions import Ignore, Reject

from project.kit.clock import database_now
from scheduler import operations
from scheduler.models import TaskRun
from scheduler.states import AttemptOutcome, RunState
from tests.scheduler.jobs.conftest import Executed, Runs

Act = Callable[..., Any]


class Hooked(Task):  # type: ignore[misc]
    """A base class as applications have them."""

    called: list[str] = []

    def before_start(self, *args: Any) -> None:
        self.called.append("before_start")

    def on_success(self, *args: Any) -> None:
        self.called.append("on_success")

    def on_retry(self, *args: Any) -> None:
        self.called.append("on_retry")

    def on_failure(self, *args: Any) -> None:
        self.called.append("on_failure")


class Probe:
    """What the tasks do: what the test says."""

    act: Act


@shared_task(name="probe.plain", bind=True, base=Hooked, max_retries=2)
def plain(self: Task, *args: Any, **kwargs: Any) -> Any:
    return Probe.act(self, *args, **kwargs)


@shared_task(name="probe.autoretry", bind=True, autoretry_for=(ConnectionError,), retry_backoff=30, max_retries=1)
def autoretry(self: Task, *args: Any) -> Any:
    return Probe.act(self, *args)


@pytest.fixture(autouse=True)
def _no_calls_yet() -> None:
    Hooked.called.clear()


def perform(runs: Runs, act: Act, task: str = "probe.plain", **params: Any) -> Executed:
    Probe.act = act
    return runs.perform("celery", {"task": task, **params})


def waiting_messages() -> int:
    with current_app.connection_for_read() as connection:
        client = connection.default_channel.client
        return sum(client.llen(queue) for queue in ("runs", "scans", "celery"))


class TestItsResult:
    def test_what_it_returns_is_the_runs_result(self, runs: Runs) -> None:
        executed = perform(runs, lambda task, first, second: {"sum": first + second}, args=[2], kwargs={"second": 3})

        assert executed.state == RunState.DONE
        assert executed.run.result == {"sum": 5}
        assert Hooked.called == ["before_start", "on_success"]

    @pytest.mark.parametrize("value", [object(), float("nan"), "a\x00b", "\ud800", {1: {2}}, "x" * 100_000])
    def test_what_cannot_be_kept_as_json_is_shown_as_python_does(self, runs: Runs, value: object) -> None:
        executed = perform(runs, lambda task: value)

        assert executed.state == RunState.DONE
        assert executed.run.result[:5] == repr(value).replace("\x00", "�")[:5]
        assert len(executed.run.result) <= 64 * 1024 + 1

    def test_an_exception_is_a_failure_with_its_traceback(self, runs: Runs) -> None:
        def the_very_line(task: Task) -> None:
            raise KeyError("no such shop")

        executed = perform(runs, the_very_line)

        assert executed.state == RunState.FAILED
        assert executed.attempt.error == "KeyError: 'no such shop'"
        assert "in the_very_line" in executed.attempt.traceback
        assert Hooked.called == ["before_start", "on_failure"]

    def test_what_it_prints_and_logs_is_the_runs_output(self, runs: Runs) -> None:
        def act(task: Task) -> None:
            print("printed")
            logging.getLogger("shop.tasks").warning("logged %s", "this")

        assert perform(runs, act).output == "printed\nWARNING: logged this\n"

    def test_an_exit_of_the_process_is_a_failure(self, runs: Runs) -> None:
        executed = perform(runs, lambda task: sys.exit(3))

        assert executed.attempt.error == "The job ended the process: exit status 3."

    def test_a_timeout_reaches_it(self, runs: Runs) -> None:
        def for_ever(task: Task) -> None:
            while True:
                pass

        Probe.act = for_ever
        executed = runs.perform("celery", {"task": "probe.plain"}, timeout_seconds=1)

        assert executed.attempt.outcome == AttemptOutcome.TIMED_OUT


class TestItsRequest:
    def test_it_is_that_of_a_task_in_a_worker(self, runs: Runs) -> None:
        requests: list[dict[str, Any]] = []

        def act(task: Task, *args: Any, **kwargs: Any) -> None:
            request = task.request
            requests.append({name: getattr(request, name) for name in ("id", "retries", "called_directly", "is_eager")})
            assert list(request.args) == [1]
            assert request.kwargs == {"a": 2}
            assert request.delivery_info["redelivered"] is False

        executed = perform(runs, act, args=[1], kwargs={"a": 2})

        assert executed.state == RunState.DONE, executed.everything
        (request,) = requests
        assert request == {"id": request["id"], "retries": 0, "called_directly": False, "is_eager": False}
        assert not plain.request.id  # nothing is left behind

    def test_its_id_is_the_same_in_each_attempt(self, runs: Runs) -> None:
        ids: list[str] = []

        def act(task: Task) -> None:
            ids.append(task.request.id)
            raise task.retry(countdown=5)

        executed = perform(runs, act)
        runs.execute(executed.run)
        perform(runs, act)

        assert ids[0] == ids[1] != ids[2]


class TestRetries:
    def test_a_retry_puts_the_run_off_and_sends_nothing(self, runs: Runs) -> None:
        before = waiting_messages()

        def act(task: Task) -> None:
            try:
                raise ValueError("the shop is closed")
            except ValueError as error:
                raise task.retry(exc=error, countdown=300) from error

        executed = perform(runs, act)

        assert executed.state == RunState.DEFERRED
        assert executed.run.reason == "The task asked to be retried (1 of 2): ValueError: the shop is closed."
        assert executed.is_put_off_by(seconds=300)
        assert waiting_messages() == before
        assert Hooked.called == ["before_start", "on_retry"]

    def test_max_retries_holds_over_the_attempts_and_then_the_error_counts(self, runs: Runs) -> None:
        counts: list[int] = []

        def act(task: Task) -> None:
            counts.append(task.request.retries)
            raise task.retry(exc=ValueError("closed"), countdown=1)

        executed = perform(runs, act)
        while executed.state == RunState.DEFERRED:
            executed = runs.execute(executed.run)

        assert counts == [0, 1, 2]
        assert executed.state == RunState.FAILED
        assert executed.attempt.error == "ValueError: closed"

    def test_autoretry_is_a_retry_too_with_its_backoff(self, runs: Runs) -> None:
        def act(task: Task) -> None:
            raise ConnectionError("away")

        first = perform(runs, act, task="probe.autoretry")
        second = runs.execute(first.run)

        assert first.state == RunState.DEFERRED
        assert first.run.due_at - first.attempt.finished_at <= timedelta(seconds=30)
        assert second.state == RunState.FAILED
        assert second.attempt.error == "ConnectionError: away"

    def test_an_eta_is_kept_to_the_second(self, runs: Runs) -> None:
        eta = (database_now() + timedelta(hours=7)).replace(microsecond=0)

        def act(task: Task) -> None:
            raise task.retry(eta=eta)

        assert perform(runs, act).run.due_at == eta

    def test_an_eta_without_a_zone_is_in_the_applications_which_is_utc(self, runs: Runs) -> None:
        eta = (database_now() + timedelta(hours=7)).replace(microsecond=0)

        def act(task: Task) -> None:
            raise task.retry(eta=eta.replace(tzinfo=None))

        assert perform(runs, act).run.due_at == eta

    def test_changed_arguments_are_those_of_the_next_attempt(self, runs: Runs) -> None:
        seen: list[Any] = []

        def act(task: Task, page: int, **kwargs: Any) -> None:
            seen.append((page, kwargs))
            if page < 3:
                raise task.retry(args=[page + 1], kwargs={"more": True}, countdown=0)

        executed = runs.execute(runs.execute(perform(runs, act, args=[1]).run).run)

        assert executed.state == RunState.DONE
        assert seen == [(1, {}), (2, {"more": True}), (3, {"more": True})]

    def test_a_retry_that_is_not_thrown_puts_the_run_off_all_the_same(self, runs: Runs) -> None:
        def act(task: Task) -> str:
            task.retry(countdown=60, throw=False)
            return "went on"

        assert perform(runs, act).state == RunState.DEFERRED

    def test_a_task_is_as_before_afterwards(self, runs: Runs) -> None:
        before = plain.signature_from_request

        def act(task: Task) -> None:
            raise task.retry(countdown=60)

        perform(runs, act)

        assert plain.signature_from_request == before

    def test_a_retry_asked_for_as_the_worker_stops_keeps_its_delay(self, runs: Runs) -> None:
        def act(task: Task) -> None:
            runs.signals.stop()
            raise task.retry(countdown=300)

        executed = perform(runs, act)

        assert executed.state == RunState.DEFERRED
        assert executed.run.progress["celery"]["retries"] == 1


class TestOtherEnds:
    def test_a_task_that_ignores_its_result_is_done(self, runs: Runs) -> None:
        def act(task: Task) -> None:
            raise Ignore("replaced")

        executed = perform(runs, act)

        assert executed.state == RunState.DONE
        assert executed.run.result is None
        assert "[the task ignored its result: Ignore: replaced]" in executed.output

    def test_a_rejected_message_is_a_failure_and_a_requeued_one_is_put_off(self, runs: Runs) -> None:
        def act(task: Task, requeue: bool) -> None:
            raise Reject("not mine", requeue=requeue)

        rejected, requeued = perform(runs, act, args=[False]), perform(runs, act, args=[True])

        assert rejected.attempt.error == "The task rejected its message: not mine."
        assert requeued.state == RunState.DEFERRED
        assert requeued.run.reason == "The task asked to be delivered again: not mine."

    def test_an_unknown_task_is_refused_with_what_is_close(self, runs: Runs) -> None:
        executed = runs.perform("celery", {"task": "probe.plan"})

        assert executed.state == RunState.FAILED
        assert executed.attempt.error.startswith(
            "No task “probe.plan” is registered in this worker. Did you mean “probe.plain”"
        )

    def test_a_local_run_that_waits_is_cancelled_at_once(self, runs: Runs) -> None:
        def act(task: Task) -> None:
            raise task.retry(countdown=300)

        executed = perform(runs, act)

        assert operations.cancel(executed.run, now=database_now(), actor="a test")
        assert TaskRun.objects.get(pk=executed.run.pk).state == RunState.CANCELLED
