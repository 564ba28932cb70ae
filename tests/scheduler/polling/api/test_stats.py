"""How the accounts do, over the API: as the command tells it, page by page, in few questions."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from redis.exceptions import ConnectionError as RedisIsAway

from scheduler.polling.api.stats import StatsSerializer
from scheduler.polling.models import CarrierAccount
from scheduler.polling.queue import Queue
from tests.kit.api.caller import chiefs_program, problem_of
from tests.scheduler.polling.admin.desk import make_reached_account, put_in_order
from tests.scheduler.polling.factories import make_cards, make_tier

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


def make_polled(**fields: Any) -> CarrierAccount:
    account = make_reached_account(**fields)
    make_cards(account, 2)
    put_in_order(account)
    return account


def test_each_account_is_told_of_under_its_number() -> None:
    make_tier()
    account, other = make_polled(name="acme"), make_polled(name="other")
    rows = chiefs_program().get("polling-stats/").json()["results"]
    assert [(row["id"], row["account"], row["cards"], row["queue_length"]) for row in rows] == [
        (account.pk, "acme", 2, 2),
        (other.pk, "other", 2, 2),
    ]
    one = chiefs_program().get(f"polling-stats/{account.pk}/").json()
    assert (one["account"], one["standing"], one["tiers_feasible"]) == ("acme", "polled", True)
    problem_of(chiefs_program().get(f"polling-stats/{other.pk + 1}/"), 404)


def test_all_that_the_command_tells_is_described() -> None:
    row = chiefs_program().get(f"polling-stats/{make_polled().pk}/").json()
    assert list(row) == list(StatsSerializer().fields)


def test_accounts_are_found_by_name_and_whether_they_are_on() -> None:
    make_polled(name="acme")
    off = make_reached_account(name="off", active=False)
    for query in ("account=off", "active=false"):
        rows = chiefs_program().get(f"polling-stats/?{query}").json()["results"]
        assert [(row["id"], row["standing"]) for row in rows] == [(off.pk, "switched off")]


def test_a_page_asks_as_often_for_many_accounts_as_for_one() -> None:
    make_tier()
    caller = chiefs_program()

    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert caller.get("polling-stats/").status_code == 200
        return len(queries)

    make_polled()
    asked()  # the token is noted, scripts and tiers are known from here on
    few = asked()
    for _ in range(3):
        make_polled()
    assert asked() == few


def test_a_redis_that_is_away_is_a_503_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    account = make_polled()

    def away(*arguments: Any) -> None:
        raise RedisIsAway("Connection refused.")

    monkeypatch.setattr(Queue, "_send", away)
    for path in ("polling-stats/", f"polling-stats/{account.pk}/"):
        assert "Redis" in problem_of(chiefs_program().get(path), 503)["detail"]
