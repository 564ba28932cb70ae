"""The job `http`, against servers that hang, drip and break off."""

import socket
import threading
from collections.abc import Callable

import pytest

from project.kit.clock import database_now
from scheduler import operations
from scheduler.models import TaskRun
from scheduler.states import AttemptOutcome, RunState
from tests.scheduler.jobs.conftest import Runs
from tests.scheduler.jobs.upstream import Handler, Upstream, drip, hang
from tests.scheduler.jobs.waiting import meanwhile, wait_until


class TestTime:
    @pytest.mark.parametrize("trick", [hang, drip])
    def test_it_ends_within_its_timeout_whatever_the_server_does(
        self, runs: Runs, upstream: Upstream, trick: Callable[[Handler], None]
    ) -> None:
        upstream.answer = trick

        executed = runs.perform("http", {"url": upstream.url, "timeout_seconds": 0.5})

        assert executed.attempt.error == f"{upstream.url} did not answer within 0.5 s."

    def test_a_body_that_never_ends_is_cut_off_by_the_timeout(self, runs: Runs, upstream: Upstream) -> None:
        def endless(handler: Handler) -> None:
            handler.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
            drip(handler)

        upstream.answer = endless

        executed = runs.perform("http", {"url": upstream.url, "timeout_seconds": 0.5})

        assert executed.attempt.error == f"{upstream.url} did not answer within 0.5 s."

    def test_a_cancel_ends_it_amid_the_request(self, runs: Runs, upstream: Upstream) -> None:
        upstream.answer = hang
        run = runs.open("http", {"url": upstream.url, "timeout_seconds": 3600})

        def cancel() -> None:
            wait_until(lambda: upstream.asked, "the request")
            operations.cancel(run, now=database_now(), actor="a test")

        with meanwhile(cancel):
            assert runs.execute(run).state == RunState.CANCELLED
        assert not any(thread.name == "http request" for thread in threading.enumerate())

    def test_a_timeout_of_the_attempt_ends_it_amid_the_request(self, runs: Runs, upstream: Upstream) -> None:
        upstream.answer = hang

        executed = runs.perform("http", {"url": upstream.url, "timeout_seconds": 3600}, timeout_seconds=1)

        assert executed.attempt.outcome == AttemptOutcome.TIMED_OUT

    def test_a_stopping_worker_lets_it_finish(self, runs: Runs, upstream: Upstream) -> None:
        def stop_and_answer(handler: Handler) -> None:
            runs.signals.stop()
            runs.signals.wait_for_looks()
            handler.say(200, "done")

        upstream.answer = stop_and_answer

        assert runs.perform("http", {"method": "POST", "url": upstream.url}).state == RunState.DONE

    @pytest.mark.slow
    def test_a_stopping_worker_does_not_wait_for_a_server_that_hangs(self, runs: Runs, upstream: Upstream) -> None:
        upstream.answer = lambda handler: (runs.signals.stop(), hang(handler))[1]

        executed = runs.perform("http", {"url": upstream.url})

        assert executed.state == RunState.PENDING
        assert executed.attempt.outcome == AttemptOutcome.HANDED_BACK


class TestTrouble:
    def test_a_refused_connection_is_one_clear_sentence(self, runs: Runs) -> None:
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
            executed = runs.perform("http", {"url": f"{url}/path"})

        assert executed.attempt.error == f"{url} cannot be reached: Connection refused."
        assert executed.attempt.traceback == ""

    def test_an_unknown_host_is_one_clear_sentence(self, runs: Runs) -> None:
        executed = runs.perform("http", {"url": "https://no-such-host.invalid/"})

        assert executed.attempt.error.startswith("https://no-such-host.invalid cannot be reached: ")
        assert len(executed.attempt.error) > len("https://no-such-host.invalid cannot be reached: .")

    @pytest.mark.parametrize("said", [b"", b"SSH-2.0-OpenSSH_9.2\r\n"])
    def test_what_is_no_http_is_one_clear_sentence(self, runs: Runs, upstream: Upstream, said: bytes) -> None:
        upstream.answer = lambda handler: handler.wfile.write(said)

        executed = runs.perform("http", {"url": upstream.url})

        assert executed.attempt.error == f"{upstream.url} broke off the exchange (RemoteProtocolError)."

    @pytest.mark.parametrize("answer", [lambda handler: handler.say(500, "no"), lambda handler: None, hang])
    def test_no_secret_is_in_what_people_read(
        self, runs: Runs, upstream: Upstream, answer: Callable[[Handler], None]
    ) -> None:
        upstream.answer = answer
        address = upstream.url.replace("http://", "http://someone:s3cret-a@")
        executed = runs.perform(
            "http",
            {
                "url": f"{address}/hooks/s3cret-b?token=s3cret-c",
                "headers": {"Authorization": "Bearer s3cret-d"},
                "timeout_seconds": 0.5,
            },
        )

        assert executed.state == RunState.FAILED
        assert "s3cret" not in executed.everything

    def test_a_resumed_run_asks_again_with_the_same_key(self, runs: Runs, upstream: Upstream) -> None:
        upstream.answer = hang
        run = runs.open("http", {"method": "POST", "url": upstream.url, "timeout_seconds": 60})
        process = runs.execute_elsewhere(run)
        wait_until(lambda: upstream.asked, "the request")
        process.kill()
        process.wait()
        upstream.answer = lambda handler: handler.say(200)
        TaskRun.objects.filter(pk=run.pk).update(
            state=RunState.PENDING, due_at=database_now(), lease_owner="", lease_expires_at=None
        )

        assert runs.execute(run).state == RunState.DONE
        first, second = [asked["headers"]["Idempotency-Key"] for asked in upstream.asked]
        assert first == second
