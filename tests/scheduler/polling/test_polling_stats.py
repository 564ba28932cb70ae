"""How the polling goes, for people as a table and for programs as JSON: from rows and Redis, in few questions."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from redis import Redis
from redis.exceptions import ConnectionError as RedisIsAway

from alerts.recording import raise_alerts, resolve_alerts
from project.kit.clock import database_now
from scheduler.polling import failures, stats
from scheduler.polling.carriers.simulator import settings_for
from scheduler.polling.fleet.initializing import rebuild
from scheduler.polling.management.commands import polling_stats
from scheduler.polling.models import CarrierAccount, PollingParams
from scheduler.polling.queue import Queue, calls
from scheduler.polling.states import CheckType, ErrorClass
from scheduler.polling.stats import Standing
from tests.alerts.factories import problem
from tests.scheduler.commands.asking import Shell
from tests.scheduler.polling.factories import HOUR, SECOND, make_account, make_cards, make_checks, make_tier
from tests.scheduler.polling.fleet.conftest import redis  # noqa: F401 - a fixture
from tests.scheduler.polling.fleets import claimed

pytestmark = pytest.mark.django_db


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    """What calls verbs."""
    return Shell(capsys)


Fleet = Callable[..., CarrierAccount]


@pytest.fixture
def fleet(redis: Redis) -> Fleet:  # noqa: F811 - the fixture
    """Return what makes an account with due cards in order; it bears 5 calls a second."""
    make_tier(usage_seconds=3600, card_status_seconds=None)

    def make(name: str, cards: int, *, windows: Any = ({"limit": 5, "seconds": 1},)) -> CarrierAccount:
        now = database_now()
        account = make_account(name=name, gateway="http_json", settings=settings_for("https://carrier.example"))
        PollingParams.objects.create(account=account, changed_at=now, rate_windows=list(windows))
        make_checks(make_cards(account, cards), due_at=now - SECOND)
        rebuild(redis, account.pk, by="ann", now=now)
        return account

    return make


def line_of(table: str, name: str) -> list[str]:
    (line,) = [line for line in table.splitlines() if line.startswith(f"{name} ")]
    return re.split(r" {2,}", line)


def test_it_tells_what_waits_what_is_in_work_and_what_was_done(shell: Shell, fleet: Fleet, redis: Redis) -> None:  # noqa: F811
    account, queue = fleet("acme", 3), Queue(redis)
    first, *_ = claimed(account)
    queue.ask(calls.release(account.pk, [(first.card_id, first.token)]))
    queue.ask(calls.request(account.pk, [first.card_id], [CheckType.USAGE]))
    queue.ask(calls.note_traffic(account.pk, made=7, waits=2, waited=timedelta(seconds=1), timeouts=4))
    (told,) = shell.values("polling_stats")["accounts"]
    assert told["account"] == "acme"
    assert told["standing"] == "polled"
    assert {name: told[name] for name in ("cards", "queue_length", "due", "asked_for", "in_work")} == {
        "cards": 3,
        "queue_length": 3,
        "due": 1,
        "asked_for": 1,
        "in_work": 2,
    }
    assert {name: told[name] for name in ("claimed", "finished", "released", "leases_expired", "stale_finishes")} == {
        "claimed": 3,
        "finished": 0,
        "released": 1,
        "leases_expired": 0,
        "stale_finishes": 0,
    }
    assert {name: told[name] for name in ("calls", "limiter_waits", "limiter_waited_seconds", "limiter_timeouts")} == {
        "calls": 7,
        "limiter_waits": 2,
        "limiter_waited_seconds": 1.0,
        "limiter_timeouts": 4,
    }


def test_it_tells_whether_the_tiers_ask_for_more_than_the_account_bears(shell: Shell, fleet: Fleet) -> None:
    fleet("fine", 10)
    fleet("too many", 10, windows=[{"limit": 1, "seconds": 600}])
    fleet("free", 10, windows=[])
    table = shell.says("polling_stats")
    assert line_of(table, "fine")[-2:] == ["0 %", "2 s"]
    assert line_of(table, "too many")[-2:] == ["166 %", "1 h 40 min"]
    assert line_of(table, "free")[-2:] == ["–", "–"]
    assert table.splitlines()[-1] == "The tiers want more calls than can be made of “too many”."
    told = {each["account"]: each for each in shell.values("polling_stats")["accounts"]}
    assert (told["too many"]["calls_wanted_a_day"], told["too many"]["calls_possible_a_day"]) == (240, 144)
    assert [told[name]["tiers_feasible"] for name in ("fine", "too many", "free")] == [True, False, True]
    assert told["free"]["full_cycle_seconds"] is None


def test_each_account_says_where_it_stands(fleet: Fleet, redis: Redis) -> None:  # noqa: F811 - the fixture
    accounts = [fleet(name, 1) for name in ("fine", "held", "lost", "off")]
    _, held, lost, off = accounts
    now = database_now()
    stopped = {"held_until": now + HOUR, "held_class": ErrorClass.AUTH}
    CarrierAccount.objects.filter(pk=held.pk).update(**stopped)
    CarrierAccount.objects.filter(pk=off.pk).update(active=False, **stopped)
    Queue(redis).ask(calls.begin_rebuild(lost.pk))
    seen = stats.of_accounts(redis, CarrierAccount.objects.order_by("pk"), now=now)
    assert [each.standing for each in seen] == [
        Standing.POLLED,
        Standing.HELD,
        Standing.ORDER_LOST,
        Standing.SWITCHED_OFF,
    ]
    assert [each.as_json()["held_until"] for each in seen] == [None, now + HOUR, None, None]


def test_open_alerts_of_an_account_and_of_its_cards_are_counted(fleet: Fleet) -> None:
    acme, other = fleet("acme", 1), fleet("other", 1)
    of_acme = {"labels": {"account": "acme"}}
    problems = [problem(f"card {number}", kind=failures.CARD_CHECK_FAILING, **of_acme) for number in range(3)]
    problems.append(problem("storm", kind=failures.CARDS_FAILING, **of_acme))
    raise_alerts([*problems, problem("a run", **of_acme)], now=database_now())
    resolve_alerts(["card 0"], now=database_now())
    assert stats.open_alerts([acme, other]) == {acme.pk: 3, other.pk: 0}


def test_it_asks_four_queries_and_redis_once_whatever_there_is(
    fleet: Fleet,
    redis: Redis,  # noqa: F811 - the fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    round_trips = []
    send = Queue._send
    monkeypatch.setattr(Queue, "_send", lambda queue, commands: round_trips.append(1) or send(queue, commands))

    def asked() -> tuple[int, int]:
        round_trips.clear()
        with CaptureQueriesContext(connection) as queries:
            stats.of_accounts(redis, CarrierAccount.objects.select_related("params"), now=database_now())
        return len(queries), len(round_trips)

    fleet("first", 1)
    asked()  # scripts and tiers are known from here on
    few = asked()
    for number in range(5):
        fleet(f"account {number}", 20)
    assert asked() == few == (4, 1)  # the clock, accounts, cards, alerts


def test_accounts_can_be_named(shell: Shell, fleet: Fleet) -> None:
    for name in ("one", "two", "three"):
        fleet(name, 1)
    told = shell.values("polling_stats", "--account", "three", "--account", "one")["accounts"]
    assert [each["account"] for each in told] == ["three", "one"]
    assert shell.refuses("polling_stats", "--account", "four") == "There is no account “four”."


def test_without_accounts_it_says_so(shell: Shell) -> None:
    assert shell.says("polling_stats") == "There is no active account yet."


def test_a_redis_that_is_away_is_one_sentence(shell: Shell, fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet("acme", 1)

    def away(*arguments: Any) -> None:
        raise RedisIsAway("Connection refused.")

    monkeypatch.setattr(Queue, "_send", away)
    assert "Connection refused." in shell.refuses("polling_stats")


def test_watching_shows_it_anew_until_somebody_interrupts_that(
    shell: Shell, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet("first", 1)
    looks = iter((lambda: fleet("second", 1), _interrupted))
    monkeypatch.setattr(polling_stats, "pause", lambda seconds: next(looks)())
    table = shell.says("polling_stats", "--watch")
    assert line_of(table, "second")[1] == "polled"
    assert "--watch is for people" in shell.refuses("polling_stats", "--watch")


def _interrupted() -> None:
    raise KeyboardInterrupt
