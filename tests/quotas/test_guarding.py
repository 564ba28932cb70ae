"""A client that listens: a refusal pauses the job by itself, and healthy answers cost next to nothing."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import httpx
import pytest
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from project.kit.clock import database_now
from quotas import defining, guarding, observing
from quotas.guarding import quota_guard
from quotas.models import ProviderReport, Quota
from quotas.refusals import PauseNeeded, UnknownQuota
from quotas.states import Kind, WaitReason
from tests.scheduler.jobs.upstream import Upstream
from tests.scheduler.jobs.waiting import wait_until

# A guard keeps quiet amid a transaction, so there must be none around the test.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def quota() -> Quota:
    return defining.create(key="api", kind=Kind.CAPACITY, now=database_now())


@pytest.fixture
def client(quota: Quota) -> Iterator[httpx.Client]:
    with quota_guard(httpx.Client(), "api") as guarded:
        yield guarded


@pytest.fixture(autouse=True)
def ticks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds on the process's clock, which a test moves on; nothing was heard before."""
    seconds = [1000.0]
    monkeypatch.setattr(guarding, "elapsed", lambda: seconds[0])
    monkeypatch.setattr(guarding, "_heard_at", {})
    return seconds


def row() -> Quota:
    return Quota.objects.get(key="api")


class TestRefusals:
    def test_a_429_pauses_the_job_and_says_what_it_waits_for(self, client: httpx.Client, upstream: Upstream) -> None:
        upstream.answer = lambda handler: handler.say(429, retry_after="30")

        with pytest.raises(PauseNeeded) as paused:
            client.get(upstream.url)

        (refusal,) = paused.value.refusals
        assert (refusal.key, refusal.why) == ("api", WaitReason.PROVIDER_WINDOW)
        assert refusal.expected_at == row().blocked_until == ProviderReport.objects.get().retry_at

    def test_it_passes_through_whatever_the_job_catches(self, client: httpx.Client, upstream: Upstream) -> None:
        upstream.answer = lambda handler: handler.say(429)

        def careless() -> None:
            try:
                client.get(upstream.url)
            except Exception as error:
                raise AssertionError("a job has caught what pauses it") from error

        with pytest.raises(PauseNeeded):
            careless()

    def test_hooks_of_the_job_come_after(self, quota: Quota, upstream: Upstream) -> None:
        upstream.answer = lambda handler: handler.say(429)
        hooks = {"response": [lambda response: response.raise_for_status()]}

        with quota_guard(httpx.Client(event_hooks=hooks), "api") as client, pytest.raises(PauseNeeded):
            client.get(upstream.url)

    def test_the_body_of_a_429_is_heard(self, client: httpx.Client, upstream: Upstream) -> None:
        upstream.answer = lambda handler: handler.say(429, '{"parameters": {"retry_after": 35}}')

        with pytest.raises(PauseNeeded), client.stream("GET", upstream.url):
            pass

        assert row().blocked_without_reset is False

    def test_a_long_body_is_not_read_for_that(self, client: httpx.Client, upstream: Upstream) -> None:
        upstream.answer = lambda handler: handler.say(429, '{"retry_after": 35, "why": "' + "x" * 100_000 + '"}')

        with pytest.raises(PauseNeeded):
            client.get(upstream.url)

        assert row().blocked_without_reset is True

    @pytest.mark.parametrize(
        ("status", "headers"), [(403, {"x_ratelimit_remaining": "0"}), (503, {"retry_after": "9"})]
    )
    def test_other_statuses_refuse_if_they_say_so(
        self, client: httpx.Client, upstream: Upstream, status: int, headers: dict[str, str]
    ) -> None:
        upstream.answer = lambda handler: handler.say(status, **headers)

        with pytest.raises(PauseNeeded):
            client.get(upstream.url)

    @pytest.mark.parametrize("status", [403, 503, 500, 404])
    def test_other_troubles_are_the_job_s_own(self, client: httpx.Client, upstream: Upstream, status: int) -> None:
        upstream.answer = lambda handler: handler.say(status, "why")

        response = client.get(upstream.url)

        assert (response.status_code, response.text) == (status, "why")
        assert row().blocked_until is None

    def test_in_shadow_mode_the_job_goes_on_with_the_answer(self, client: httpx.Client, upstream: Upstream) -> None:
        Quota.objects.update(shadow=True)
        upstream.answer = lambda handler: handler.say(429, "slow down", retry_after="30")

        response = client.get(upstream.url)

        assert (response.status_code, response.text) == (429, "slow down")
        assert ProviderReport.objects.get().limited

    def test_each_refusal_is_heard_however_soon(self, client: httpx.Client, upstream: Upstream) -> None:
        assert client.get(upstream.url).status_code == 200
        upstream.answer = lambda handler: handler.say(429)

        for _ in range(2):
            with pytest.raises(PauseNeeded):
                client.get(upstream.url)

    def test_an_unknown_quota_is_named(self, upstream: Upstream) -> None:
        with quota_guard(httpx.Client(), "nobody's") as client, pytest.raises(UnknownQuota):
            client.get(upstream.url)


class TestHealthyAnswers:
    def test_they_reach_the_quota_at_most_once_a_second(
        self, client: httpx.Client, upstream: Upstream, ticks: list[float]
    ) -> None:
        left = iter(range(99, 0, -1))
        upstream.answer = lambda handler: handler.say(
            200, x_ratelimit_limit="100", x_ratelimit_remaining=str(next(left)), x_ratelimit_reset="600"
        )

        with CaptureQueriesContext(connection) as queries:
            client.get(upstream.url)
        assert len(queries) > 0
        with CaptureQueriesContext(connection) as queries:
            for _ in range(20):
                client.get(upstream.url)
        assert len(queries) == 0
        assert row().provider_remaining == 99

        ticks[0] += 1.0
        client.get(upstream.url)
        assert row().provider_remaining == 78

    def test_they_end_a_block(self, client: httpx.Client, upstream: Upstream) -> None:
        observing.observe("api", {"Retry-After": "30"}, status=429, now=database_now() - timedelta(seconds=6))

        client.get(upstream.url)

        assert row().blocked_until is None

    def test_amid_a_transaction_of_the_job_they_lock_nothing(self, client: httpx.Client, upstream: Upstream) -> None:
        upstream.answer = lambda handler: handler.say(200, x_ratelimit_remaining="5")

        with transaction.atomic():
            client.get(upstream.url)

        assert row().provider_remaining is None

    def test_a_database_that_is_away_is_no_trouble_for_the_job(
        self,
        client: httpx.Client,
        upstream: Upstream,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        def away() -> None:
            raise OperationalError("server closed the connection unexpectedly")

        monkeypatch.setattr(guarding, "database_now", away)

        assert client.get(upstream.url).status_code == 200
        assert "what the provider of quota 'api' says cannot be noted: OperationalError" in caplog.text

    def test_a_refusal_that_cannot_be_noted_is_not_taken_for_an_answer(
        self, client: httpx.Client, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def away() -> None:
            raise OperationalError("server closed the connection unexpectedly")

        monkeypatch.setattr(guarding, "database_now", away)
        upstream.answer = lambda handler: handler.say(429)

        with pytest.raises(OperationalError):
            client.get(upstream.url)


class TestAsyncClient:
    def ask(self, url: str, times: int = 1) -> list[httpx.Response]:
        async def work() -> list[httpx.Response]:
            async with quota_guard(httpx.AsyncClient(), "api") as client:
                return [await client.get(url) for _ in range(times)]

        return asyncio.run(work())

    def test_a_429_pauses_the_job(self, quota: Quota, upstream: Upstream) -> None:
        upstream.answer = lambda handler: handler.say(429, '{"retry_after": 35}')

        with pytest.raises(PauseNeeded) as paused:
            self.ask(upstream.url)

        assert paused.value.refusals[0].expected_at == row().blocked_until
        assert row().blocked_without_reset is False

    def test_healthy_answers_are_heard(self, quota: Quota, upstream: Upstream) -> None:
        upstream.answer = lambda handler: handler.say(200, "fine", x_ratelimit_remaining="5")

        assert [response.text for response in self.ask(upstream.url, times=3)] == ["fine"] * 3
        assert row().provider_remaining == 5

    def test_no_connection_to_the_database_is_left_behind(self, quota: Quota, upstream: Upstream) -> None:
        before = sessions()

        self.ask(upstream.url)

        wait_until(lambda: sessions() == before, "the connection of the thread is closed")


def sessions() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        (count,) = cursor.fetchone()
    return int(count)
