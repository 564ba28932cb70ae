"""The figures of a scrape are those of the rows, and of Redis."""

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings
from redis import Redis
from redis.exceptions import ConnectionError as RedisIsAway
from redis.exceptions import NoPermissionError

from alerts.models import Delivery
from alerts.recording import raise_alert
from project.beat import SCANS
from project.kit import redis_urls
from project.kit.clock import database_now
from project.scans import mark
from quotas import charging
from quotas.states import Kind
from scheduler.models import Attempt, Fire, RunEvent, Schedule
from scheduler.polling.models import CarrierAccount, PollingParams
from scheduler.polling.queue import Queue, calls
from scheduler.states import EventTrigger, FireKind, FireOutcome, RunState
from tests.alerts.factories import make_channel, problem
from tests.project.metrics.scraping import Scraped
from tests.quotas.factories import make_quota
from tests.scheduler.factories import HOUR, MINUTE, SECOND, make_run, make_schedule
from tests.scheduler.polling.factories import make_account, make_cards
from tests.scheduler.polling.fleet.conftest import redis  # noqa: F401 - a fixture
from tests.scheduler.polling.fleets import claimed, put_in_order, wait_until

pytestmark = pytest.mark.django_db


def fleet(name: str, cards: int, **params: Any) -> CarrierAccount:
    """Insert an account whose cards are all due."""
    account = make_account(name=name)
    PollingParams.objects.create(account=account, changed_at=account.created_at, **params)
    make_cards(account, cards)
    put_in_order(account)
    return account


def record_fires(schedule: Schedule, outcome: FireOutcome, count: int, *, ago: timedelta = SECOND) -> None:
    """Insert fires that were recorded a while ago, of instants long past."""
    now = database_now()
    Fire.objects.bulk_create(
        Fire(
            schedule=schedule,
            fire_at=now - ago - HOUR * number - 24 * HOUR,
            kind=FireKind.MISFIRE,
            outcome=outcome,
            reason="So it was.",
            recorded_at=now - ago,
        )
        for number in range(count)
    )


def test_runs_are_counted_by_state_and_the_ended_only_lately(settings: Settings) -> None:
    now = database_now()
    for state in RunState:
        make_run(state, now=now - SECOND)
    make_run(RunState.FAILED, now=now - SECOND, ended=True)
    make_run(RunState.DONE, now=now - HOUR)
    make_run(RunState.PENDING, now=now, due_at=now - 90 * SECOND)
    make_run(RunState.PENDING, now=now, due_at=now + HOUR)
    make_run(RunState.RUNNING, now=now, lease_expires_at=now - SECOND, lease_owner="other")
    scraped = Scraped(settings)
    ended = {"done", "cancelled"}
    assert scraped.by("tideline_runs", "state") == {
        state.value: {"pending": 3, "running": 2}.get(state.value, 1) for state in RunState if state not in ended
    }
    assert scraped.by("tideline_runs_ended_lately", "state") == {"done": 1, "failed": 1, "cancelled": 1}
    assert scraped("tideline_runs_due") == 5
    assert scraped("tideline_runs_overdue") == 1
    assert 90 <= (scraped("tideline_runs_oldest_due_seconds") or 0) < 300
    assert scraped("tideline_runs_stuck") == 1
    assert scraped("tideline_runners_busy") == 2


def test_lateness_is_that_of_the_executions_begun_lately(settings: Settings) -> None:
    now = database_now()
    for seconds in range(101):
        run = make_run(RunState.DONE, now=now - MINUTE)
        Attempt.objects.filter(run=run).update(due_at=now - MINUTE - seconds * SECOND)
    long_ago = make_run(RunState.DONE, now=now - HOUR)
    Attempt.objects.filter(run=long_ago).update(due_at=now - 2 * HOUR, worker="another")
    scraped = Scraped(settings)
    assert scraped.by("tideline_run_lateness_seconds", "statistic") == {"p50": 50, "p95": 95, "max": 100}
    assert scraped("tideline_attempts_begun_lately") == 101
    assert scraped("tideline_runners_seen_lately") == 1


def test_where_nothing_was_begun_there_is_no_lateness(settings: Settings) -> None:
    assert Scraped(settings).series("tideline_run_lateness_seconds") == []


def test_leases_lost_are_the_rescues_of_late(settings: Settings) -> None:
    now = database_now()
    run = make_run(RunState.PENDING, now=now)
    for trigger, at in ((EventTrigger.RESCUE, now), (EventTrigger.RESCUE, now - HOUR), (EventTrigger.RETRY, now)):
        RunEvent.objects.bulk_create([RunEvent(run=run, at=at, to_state=run.state, trigger=trigger)])
    assert Scraped(settings)("tideline_run_leases_lost_lately") == 1


def test_fires_are_counted_by_outcome_whenever_they_were_due(settings: Settings) -> None:
    schedule = make_schedule()
    record_fires(schedule, FireOutcome.STARTED, 3)
    record_fires(schedule, FireOutcome.SKIPPED_MISFIRE, 2, ago=4 * MINUTE)
    record_fires(schedule, FireOutcome.STARTED, 2, ago=6 * MINUTE)
    assert Scraped(settings).by("tideline_fires_lately", "outcome") == {"started": 3, "skipped_misfire": 2}


def test_schedules_are_counted_by_where_they_stand(settings: Settings) -> None:
    now = database_now()
    make_schedule(now=now)
    make_schedule(due=now - 2 * MINUTE)
    make_schedule(due=now - HOUR, enabled=False)
    Schedule.objects.filter(pk=make_schedule(now=now).pk).update(next_run_at=None, broken_reason="No such zone.")
    scraped = Scraped(settings)
    counted = [scraped(f"tideline_schedules{standing}") for standing in ("", "_paused", "_broken", "_overdue")]
    assert counted == [4, 1, 1, 1]
    assert 120 <= (scraped("tideline_schedules_oldest_due_seconds") or 0) < HOUR.total_seconds()


def test_a_quota_says_how_much_is_used_and_whether_work_may_go_on(settings: Settings) -> None:
    now = database_now()
    make_quota(100, key="shop", now=now)
    make_quota(None, key="free", now=now)
    make_quota(10, key="rate", kind=Kind.RATE, refill_amount=1, refill_seconds=1, now=now)
    charging.charge("shop", 100, now=now)
    scraped = Scraped(settings)
    assert [scraped(f"tideline_quota_{name}", quota="shop") for name in ("used", "reserved", "limit", "available")] == [
        100,
        0,
        100,
        0,
    ]
    assert scraped("tideline_quota_sufficient", quota="shop") == 0
    assert scraped("tideline_quota_sufficient", quota="rate") == 1
    assert scraped("tideline_quota_limit", quota="free") is None
    assert scraped("tideline_quota_available", quota="free") is None
    assert scraped.by("tideline_quotas", "verdict") == {"sufficient": 2, "insufficient": 1}


def test_alerts_and_deliveries_are_counted_by_state(settings: Settings) -> None:
    now = database_now()
    make_channel(name="ops", failures=3)
    make_channel(name="off", enabled=False)
    for number in range(3):
        raise_alert(problem(f"run {number}"), now=now - MINUTE)
    first, second, _ = Delivery.objects.filter(channel__name="ops").order_by("pk")
    Delivery.objects.filter(pk=first.pk).update(state="sent", ended_at=now)
    Delivery.objects.filter(pk=second.pk).update(state="failed", ended_at=now - HOUR)
    scraped = Scraped(settings)
    assert scraped("tideline_alerts", state="open", severity=problem().severity) == 3
    assert scraped("tideline_deliveries", state="waiting") == Delivery.objects.filter(state="waiting").count() > 0
    assert scraped.by("tideline_deliveries_ended_lately", "state") == {"sent": 1}
    assert scraped("tideline_deliveries_oldest_due_seconds") >= 60
    assert scraped.series("tideline_channel_failures") == [({"channel": "ops"}, 3)]


def test_scans_say_how_old_they_are_and_who_asked_for_them(settings: Settings) -> None:
    first, second, *others = SCANS
    mark(first, by="a worker")
    mark(first, by="a watch", from_beat=False)
    mark(first, by="a worker")
    scraped = Scraped(settings)
    assert scraped("tideline_scan_recent", scan=first) == 1
    assert 0 <= (scraped("tideline_scan_age_seconds", scan=first) or 0) < 60
    assert [scraped("tideline_scans_total", scan=first, by=by) for by in ("beat", "watch")] == [2, 1]
    assert scraped("tideline_scan_recent", scan=second) == 0
    assert scraped("tideline_scan_age_seconds", scan=second) is None
    assert len(scraped.series("tideline_scan_recent")) == len(others) + 2


def test_queues_are_as_long_as_what_waits_in_the_broker(settings: Settings) -> None:
    from celery import current_app

    with current_app.connection_for_write() as broker:
        queue = broker.SimpleQueue(current_app.amqp.queues["polling.legacy"])
        before = Scraped(settings)("tideline_queue_length", queue="polling.legacy")
        queue.put({"a": "message"})
        queue.put({"a": "message"})
        scraped = Scraped(settings)
        queue.clear()
    assert scraped("tideline_queue_length", queue="polling.legacy") == (before or 0) + 2
    assert {labels["queue"] for labels, _ in scraped.series("tideline_queue_length")} >= {"scans", "runs", "alerts"}


def test_a_process_listens_from_when_it_subscribes_until_its_connection_ends(settings: Settings) -> None:
    def listeners() -> float | None:
        return Scraped(settings)("tideline_celery_listeners")

    before = listeners()
    with (
        redis_urls.client(settings.REDIS_URL, client_name="tideline").pubsub() as worker,
        redis_urls.client(settings.REDIS_URL, client_name="somebody").pubsub() as stranger,
    ):
        for client in (worker, stranger):
            client.psubscribe("/0.celery.pidbox")
        wait_until(lambda: listeners() == (before or 0) + 1, "the one of the house to be counted")
    wait_until(lambda: listeners() == before, "the end of its connection to be noticed")


def test_a_redis_that_does_not_tell_who_is_connected_tells_the_rest(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*arguments: Any, **options: Any) -> None:
        raise NoPermissionError("this user has no permissions to run the 'client|list' command")

    monkeypatch.setattr("redis.Redis.client_list", forbidden)
    scraped = Scraped(settings)
    assert scraped.series("tideline_celery_listeners") == []
    assert scraped("tideline_redis_up") == 1


def test_an_account_tells_its_cards_its_calls_and_its_waits(settings: Settings, redis: Redis) -> None:  # noqa: F811
    account, queue = fleet("acme", 3, rate_windows=[{"limit": 5, "seconds": 2}]), Queue(redis)
    first, *_ = claimed(account)
    queue.ask(calls.release(account.pk, [(first.card_id, first.token)]))
    queue.ask(calls.note_traffic(account.pk, made=7, waits=2, waited=timedelta(seconds=1.5), timeouts=4))
    scraped = Scraped(settings)

    def of(name: str) -> float | None:
        return scraped(f"tideline_polling_{name}", account="acme")

    assert [of(name) for name in ("cards", "cards_due", "cards_asked", "cards_in_work")] == [3, 1, 0, 2]
    assert [of(f"{name}_total") for name in ("claims", "finished", "released", "leases_lost", "stale_finishes")] == [
        *(3, 0, 1),
        *(0, 0),
    ]
    assert [
        of(f"{name}_total") for name in ("calls", "limiter_waits", "limiter_waited_seconds", "limiter_timeouts")
    ] == [
        *(7, 2),
        *(1.5, 4),
    ]
    assert of("allowed_calls_per_second") == 2.5
    assert scraped.by("tideline_polling_standing", "standing") == {"polled": 1}
    assert scraped("tideline_redis_up") == 1


def test_where_redis_is_away_the_rows_alone_speak(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*arguments: Any, **options: Any) -> None:
        raise RedisIsAway("Connection to cache.internal refused.")

    make_account(name="acme")
    make_run(RunState.PAUSED)
    monkeypatch.setattr("redis.client.Pipeline.execute", away)
    scraped = Scraped(settings)
    assert scraped("tideline_redis_up") == 0
    assert scraped("tideline_runs", state="paused") == 1
    assert scraped.series("tideline_queue_length") == scraped.series("tideline_polling_cards") == []
