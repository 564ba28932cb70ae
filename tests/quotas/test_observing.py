"""What a provider says about its own limit reaches the quota, and with it whoever waits."""

import logging
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from quotas import availability, charging, defining, observing, scans
from quotas.models import Edge, ProviderReport, Quota
from quotas.provider.observation import Observation
from quotas.provider.probing import ProbeFailed
from quotas.refusals import Refused, UnknownQuota
from quotas.states import Cause, Kind, Verdict, WaitReason
from tests.scheduler.jobs.upstream import Upstream

NOW = datetime(2026, 9, 9, 11, 59, 30, tzinfo=UTC)

pytestmark = pytest.mark.django_db


@pytest.fixture
def quota() -> Quota:
    """An unlimited quota, of which only the provider knows the limit."""
    return defining.create(key="api", kind=Kind.CAPACITY, now=NOW)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def hear(status: int = 200, seconds: float = 0, **headers: object) -> Observation:
    """Let the quota's provider answer so many seconds from the start."""
    named = {name.replace("_", "-"): str(value) for name, value in headers.items()}
    return observing.observe("api", named, status=status, now=at(seconds))


def row() -> Quota:
    return Quota.objects.get(key="api")


class TestRefusals:
    def test_a_refusal_makes_the_quota_insufficient_until_the_provider_says(self, quota: Quota) -> None:
        hear(429, retry_after=30)

        now = row()
        assert (now.verdict, now.blocked_until) == (Verdict.INSUFFICIENT, at(30))
        assert availability.available(now, at(29)) == 0
        assert now.evaluate_at == at(30)

    def test_whoever_charges_meanwhile_is_told_what_to_wait_for(self, quota: Quota) -> None:
        hear(429, retry_after=30)

        with pytest.raises(Refused) as refused:
            charging.charge("api", 1, now=at(10))

        assert (refused.value.why, refused.value.expected_at) == (WaitReason.PROVIDER_WINDOW, at(30))

    def test_a_refusal_that_does_not_say_until_when_is_called_so(self, quota: Quota) -> None:
        hear(429)

        with pytest.raises(Refused) as refused:
            charging.charge("api", 1, now=at(10))

        assert (refused.value.why, refused.value.expected_at) == (WaitReason.UNKNOWN_RESET, at(30))

    def test_its_body_may_say_it(self, quota: Quota) -> None:
        said = observing.observe("api", {}, status=429, body=b'{"parameters": {"retry_after": 35}}', now=NOW)

        assert said.retry_at == row().blocked_until == at(35)

    def test_it_is_history(self, quota: Quota) -> None:
        hear(429, retry_after=30)

        kept = ProviderReport.objects.get()
        assert (kept.quota_id, kept.at, kept.limited, kept.status, kept.retry_at) == (quota.pk, NOW, True, 429, at(30))

    def test_the_reset_is_a_hint_that_somebody_has_to_verify(self, quota: Quota) -> None:
        hear(429, retry_after=30)

        scans.evaluate_due(now=at(30))

        now = row()
        assert (now.blocked_until, now.provider_unverified, now.verdict) == (None, True, Verdict.INSUFFICIENT)
        assert not Edge.objects.exists()

    def test_a_trial_that_is_refused_blocks_anew(self, quota: Quota) -> None:
        hear(429, retry_after=30)
        scans.evaluate_due(now=at(30))

        hear(429, seconds=31, retry_after=10)

        now = row()
        assert (now.blocked_until, now.provider_unverified, now.blocked_count) == (at(41), False, 2)

    def test_a_trial_that_is_let_in_lets_the_others_in(self, quota: Quota) -> None:
        hear(429, retry_after=30)
        scans.evaluate_due(now=at(30))

        hear(200, seconds=31)

        assert row().provider_unverified is False
        scans.evaluate_due(now=at(31 + quota.stable_seconds))
        assert row().verdict == Verdict.SUFFICIENT
        assert Edge.objects.get().cause == Cause.PROVIDER

    def test_a_refusal_heard_before_a_later_answer_is_ignored(self, quota: Quota) -> None:
        hear(200, seconds=10, x_ratelimit_remaining=50, x_ratelimit_reset=60)

        hear(429, seconds=9, retry_after=30)

        assert row().blocked_until is None
        assert not ProviderReport.objects.filter(limited=True).exists()


class TestWhatIsLeft:
    def test_the_provider_s_figures_bound_what_is_available(self, quota: Quota) -> None:
        hear(x_ratelimit_limit=100, x_ratelimit_remaining=5, x_ratelimit_reset=60)
        charging.charge("api", 3, now=at(1))

        assert availability.available(row(), at(2)) == 2
        assert availability.available(row(), at(60)) is None

    def test_nothing_left_waits_for_the_provider_s_reset(self, quota: Quota) -> None:
        hear(x_ratelimit_limit=100, x_ratelimit_remaining=0, x_ratelimit_reset=60)

        assert (row().verdict, row().evaluate_at) == (Verdict.INSUFFICIENT, at(60))

    def test_more_left_again_is_an_edge_once_it_has_lasted(self, quota: Quota) -> None:
        hear(x_ratelimit_limit=100, x_ratelimit_remaining=0, x_ratelimit_reset=600)
        hear(seconds=20, x_ratelimit_limit=100, x_ratelimit_remaining=100, x_ratelimit_reset=600)

        assert row().verdict == Verdict.INSUFFICIENT
        scans.evaluate_due(now=at(20 + quota.stable_seconds))
        assert Edge.objects.get().cause == Cause.PROVIDER

    def test_a_debt_of_the_own_limit_counts_as_well(self, quota: Quota) -> None:
        charging.set_limit("api", 1, now=NOW)

        hear(x_ratelimit_limit=100, x_ratelimit_remaining=90, x_ratelimit_reset=60)

        assert availability.available(row(), at(1)) == 1


class TestNoNews:
    def test_a_healthy_answer_that_says_nothing_new_writes_nothing_and_locks_nothing(self, quota: Quota) -> None:
        for seconds in (0, 1):
            hear(seconds=seconds, x_ratelimit_limit=1000, x_ratelimit_remaining=900, x_ratelimit_reset=600 - seconds)

        with CaptureQueriesContext(
            connection,
        ) as queries:
            hear(seconds=2, x_ratelimit_limit=1000, x_ratelimit_remaining=898, x_ratelimit_reset=598)

        assert [query["sql"].split()[0] for query in queries] == ["SELECT"]

    def test_nonsense_is_logged_and_kept_once(self, quota: Quota, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING):
            for seconds in (0, 100, 200):
                hear(seconds=seconds, x_ratelimit_remaining="plenty")

        sentence = "x-ratelimit-remaining said “plenty”, which is no amount."
        assert [kept.doubts for kept in ProviderReport.objects.all()] == [sentence]
        assert [record.getMessage() for record in caplog.records] == [f"the provider of quota 'api': {sentence}"]
        assert row().provider_remaining is None


class TestRecord:
    def test_an_unknown_quota_is_named(self) -> None:
        with pytest.raises(UnknownQuota, match="There is no quota “nobody's”"):
            observing.observe("nobody's", {}, status=200, now=NOW)

    def test_whoever_was_refused_is_told_what_to_wait_for(self, quota: Quota) -> None:
        refusal = observing.record("api", Observation(NOW, status=429, limited=True, retry_at=at(30)))

        assert refusal is not None
        assert (refusal.key, refusal.quota_id, refusal.blocker, refusal.amount) == ("api", quota.pk, "api", 1)
        assert (refusal.available, refusal.why, refusal.expected_at) == (0, WaitReason.PROVIDER_WINDOW, at(30))

    def test_whoever_heard_nothing_bad_waits_for_nothing(self, quota: Quota) -> None:
        assert observing.record("api", Observation(NOW, status=200)) is None

    def test_in_shadow_mode_it_is_noted_and_nobody_waits(self, quota: Quota) -> None:
        Quota.objects.update(shadow=True)

        assert observing.record("api", Observation(NOW, status=429, limited=True)) is None
        assert ProviderReport.objects.get().limited


class TestProbe:
    @pytest.fixture
    def probed(self, upstream: Upstream) -> Quota:
        upstream.answer = lambda handler: handler.say(200, '{"left": 40, "of": 100, "reset": 60}')
        return defining.create(
            key="api", kind=Kind.CAPACITY, now=NOW, probe_url=upstream.url, probe_headers={"X-Api-Key": "s3cret"},
            probe_remaining="left", probe_limit="of", probe_reset="reset",
        )  # fmt: skip

    def test_the_usage_endpoint_s_figures_reach_the_quota(self, probed: Quota, upstream: Upstream) -> None:
        said = observing.probe(probed.pk, clock=lambda: at(1))

        assert said == Observation(at(1), status=200, limit=100, remaining=40, resets_at=at(61))
        assert (row().provider_limit, row().provider_remaining, row().provider_resets_at) == (100, 40, at(61))
        assert upstream.asked[0]["headers"]["x-api-key"] == "s3cret"

    def test_a_quota_that_waited_for_verification_gets_it(self, probed: Quota) -> None:
        hear(429, retry_after=30)
        scans.evaluate_due(now=at(30))

        observing.probe(probed.pk, clock=lambda: at(31))

        assert (row().provider_unverified, row().blocked_count) == (False, 0)

    def test_a_probe_that_finds_nothing_left_blocks(self, probed: Quota, upstream: Upstream) -> None:
        upstream.answer = lambda handler: handler.say(200, '{"left": 0, "of": 100, "reset": 60}')

        observing.probe(probed.pk, clock=lambda: NOW)

        assert (row().blocked_until, row().verdict) == (at(60), Verdict.INSUFFICIENT)

    def test_a_failure_changes_nothing_and_is_kept_once(
        self, probed: Quota, upstream: Upstream, caplog: pytest.LogCaptureFixture
    ) -> None:
        hear(429, retry_after=30)
        upstream.answer = lambda handler: handler.say(401)

        for seconds in (100, 200):
            said = observing.probe(probed.pk, clock=lambda seconds=seconds: at(seconds))  # type: ignore[misc]
            assert isinstance(said, ProbeFailed)

        assert row().provider_unverified
        sentence = f"{upstream.url} answered 401 Unauthorized."
        assert [kept.doubts for kept in ProviderReport.objects.all()] == [sentence, ""]
        assert caplog.text.count(sentence) == 1
        assert "s3cret" not in caplog.text

    def test_while_it_asks_the_next_look_is_later_and_no_transaction_is_open(
        self, probed: Quota, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        outside = list(connection.savepoint_ids)
        seen: list[tuple[datetime | None, bool]] = []

        def look(*_: object, **__: object) -> ProbeFailed:
            seen.append((row().next_check_at, connection.savepoint_ids == outside))
            return ProbeFailed("It did not answer.")

        monkeypatch.setattr(observing, "ask", look)
        observing.probe(probed.pk, clock=lambda: NOW)

        assert seen == [(at(probed.poll_floor_seconds), True)]

    def test_an_answer_to_a_question_that_was_changed_meanwhile_is_dropped(
        self, probed: Quota, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def change_the_account(*_: object, **__: object) -> Observation:
            Quota.objects.update(probe_headers={"X-Api-Key": "of another account"})
            return Observation(NOW, status=200, remaining=1, resets_at=at(60))

        monkeypatch.setattr(observing, "ask", change_the_account)
        observing.probe(probed.pk, clock=lambda: NOW)

        assert row().provider_remaining is None

    def test_a_quota_without_a_probe_is_not_asked(self, quota: Quota) -> None:
        assert observing.probe(quota.pk, clock=lambda: NOW) is None
