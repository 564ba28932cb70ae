"""How a card stands, over the API: what is due, who has it, its place, its failures; also while Redis is away."""

from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisIsAway

from project.kit.clock import database_now
from scheduler.polling.models import Card
from scheduler.polling.queue import Queue, calls
from scheduler.polling.states import CheckType
from tests.kit.api.caller import chiefs_program
from tests.scheduler.polling.admin.desk import make_failing, make_reached_account, put_in_order
from tests.scheduler.polling.factories import HOUR, SECOND, make_card, make_cards, make_checks, make_tier
from tests.scheduler.polling.fleets import claimed

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


def state_of(card: Card) -> dict[str, Any]:
    response = chiefs_program().get(f"iot-cards/{card.iccid}/polling-state/")
    assert response.status_code == 200, response.content
    state: dict[str, Any] = response.json()
    return state


def check_of(state: dict[str, Any], check: CheckType) -> dict[str, Any]:
    (found,) = [each for each in state["checks"] if each["type"] == check]
    return dict(found)


def test_it_tells_what_is_due_when_and_how_often_and_its_place() -> None:
    tier = make_tier(usage_seconds=3600, card_status_seconds=None)
    account = make_reached_account()
    first, second = make_cards(account, 2)
    now = database_now()
    make_checks([first], due_at=now - HOUR, value=7, unit="B")
    make_checks([second], due_at=now - SECOND)
    put_in_order(account)
    state = state_of(second)
    assert (state["id"], state["account"], state["tier"]) == (second.pk, account.name, tier.name)
    assert (state["live_order"], state["position"]["before"], state["claim"]) == (True, 1, None)
    usage = check_of(state, CheckType.USAGE)
    assert (usage["possible"], usage["interval_seconds"], usage["asked_for_at"]) == (True, 3600, None)
    assert usage["due_at"] is not None
    package = check_of(state, CheckType.PACKAGE)
    assert (package["interval_seconds"], package["due_at"], package["result"]) == (None, None, None)
    assert check_of(state_of(first), CheckType.USAGE)["result"]["value"] == 7


def test_it_tells_who_has_the_card_and_what_was_asked_for_meanwhile(queue: Queue) -> None:
    make_tier(usage_seconds=3600, card_status_seconds=None)
    account = make_reached_account()
    [card] = make_cards(account, 1)
    make_checks([card], due_at=database_now() - SECOND)
    put_in_order(account)
    [claim] = claimed(account)
    queue.ask(calls.request(account.pk, [card.pk], [CheckType.CARD_STATUS]))
    state = state_of(card)
    assert (state["claim"]["token"], state["claim"]["types"]) == (claim.token, ["usage"])
    assert state["claim"]["started"] is False
    assert state["claim"]["lease_end"] is not None
    assert check_of(state, CheckType.CARD_STATUS)["asked_for_at"] is not None


def test_it_tells_what_fails_since_when_and_why() -> None:
    card = make_card()
    check = make_failing(card)
    result = check_of(state_of(card), CheckType.USAGE)["result"]
    assert (result["failures"], result["error_class"], result["error"]) == (3, "timeout", check.error)
    assert result["first_failed_at"] < result["last_failed_at"]


def test_it_says_why_a_card_is_not_asked() -> None:
    state = state_of(make_card(polling_enabled=False))
    assert [reason["situation"] for reason in state["reasons"]] == ["card_off"]
    assert state["next_at"] is None


def test_a_redis_that_is_away_leaves_what_the_rows_say(monkeypatch: pytest.MonkeyPatch) -> None:
    card = make_card()
    make_checks([card], due_at=database_now() + HOUR)

    def away(*arguments: Any) -> None:
        raise RedisIsAway("Connection refused.")

    monkeypatch.setattr(Queue, "_send", away)
    state = state_of(card)
    assert (state["live_order"], state["position"], state["claim"]) == (False, None, None)
    assert "redis_away" in [reason["situation"] for reason in state["reasons"]]
    assert check_of(state, CheckType.USAGE)["due_at"] is not None
