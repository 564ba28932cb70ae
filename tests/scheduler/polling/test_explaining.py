"""Why a card is asked, or is not: told from rows and a live order that the domain itself wrote."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from redis import Redis
from redis.exceptions import ConnectionError as RedisIsAway

from project.kit.clock import database_now
from scheduler.polling import system_settings
from scheduler.polling.carriers.simulator import settings_for
from scheduler.polling.cutover import switching
from scheduler.polling.explaining import Explanation, Situation, explain
from scheduler.polling.fleet.rebuilds import Rebuild
from scheduler.polling.models import Card
from scheduler.polling.queue import Queue, calls
from scheduler.polling.states import CheckType, ErrorClass
from scheduler.polling.system_settings import Mode
from tests.scheduler.commands.asking import Shell
from tests.scheduler.polling.explained import Fleet, why
from tests.scheduler.polling.factories import HOUR, SECOND, make_tier
from tests.scheduler.polling.fleet.conftest import redis  # noqa: F401 - a fixture

pytestmark = pytest.mark.django_db

USAGE = CheckType.USAGE


@pytest.fixture
def fleet(redis: Redis) -> Fleet:  # noqa: F811 - the fixture
    """A fleet whose one tier asks for usage each hour and status each day."""
    make_tier(name="all")
    return Fleet(redis)


def told(said: Explanation) -> str:
    return " ".join(said.sentences)


# --- not at all ------------------------------------------------------------------------------------------------


def test_a_card_whose_polling_is_off_is_told_so_and_nothing_else(fleet: Fleet) -> None:
    (card,) = fleet.cards(polling_enabled=False)
    said = why(card)
    assert said.situation is Situation.CARD_OFF
    assert said.sentences == ("Its polling is switched off. Switch it on, and it is asked soon.",)
    assert said.next_at is None


def test_a_card_of_an_account_that_is_off_names_the_account(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    fleet.change(active=False)
    said = why(card)
    assert said.situation is Situation.ACCOUNT_OFF
    assert said.sentences == ("Its account “acme” is switched off, and with it the polling of its cards.",)


# --- the account, the tier, the mode ---------------------------------------------------------------------------


def test_an_account_that_is_left_in_peace_says_until_when_and_why(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    until = database_now() + HOUR
    fleet.change(held_until=until, held_class=ErrorClass.THROTTLED, held_reason="429 from the carrier", hold_count=3)
    said = why(card)
    assert said.situation is Situation.HELD
    assert said.sentences[0].startswith("Its account “acme” is left in peace until ")
    assert "throttled. 429 from the carrier. It is hold number 3 in a row." in said.sentences[0]
    assert said.next_at == until


def test_a_hold_that_is_over_is_no_reason(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    fleet.change(held_until=database_now() - SECOND, held_class=ErrorClass.THROTTLED, held_reason="429", hold_count=1)
    assert why(card).situation is Situation.WAITS_ITS_TURN


def test_a_card_that_no_tier_matches_is_told_what_the_tiers_look_at(redis: Redis) -> None:  # noqa: F811 - the fixture
    make_tier(states=["stopped"])
    (card,) = Fleet(redis).cards(state="active", package="10 MB", used_bytes=5, allowance_bytes=10)
    said = why(card)
    assert said.situation is Situation.NO_TIER
    assert "(state active, real name unknown, package 10 MB, 50 % used)" in said.sentences[0]
    assert said.next_at is None


def test_a_check_that_the_account_cannot_make_is_named(fleet: Fleet) -> None:
    settings = settings_for("https://carrier.example")
    del settings["checks"]["usage"]
    fleet.change(settings=settings)
    (card,) = fleet.cards()
    assert "Usage, each 1 h by the tier “all”: the account “acme” cannot make it." in why(card).schedule


def test_an_account_that_can_make_none_of_the_checks_says_so(redis: Redis) -> None:  # noqa: F811 - the fixture
    make_tier(name="packages", usage_seconds=None, card_status_seconds=None, package_seconds=60)
    fleet = Fleet(redis)
    settings = settings_for("https://carrier.example")
    del settings["checks"]["package"]
    fleet.change(settings=settings)
    (card,) = fleet.cards()
    said = why(card)
    assert said.situation is Situation.NOTHING_POSSIBLE
    assert "can make none of the checks that the tier “packages” asks for" in said.sentences[0]


def test_settings_that_cannot_be_used_are_told_by_their_place(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    fleet.change(settings={"base_url": "https://carrier.example", "checks": 5})
    said = why(card)
    assert said.situation is Situation.BAD_SETTINGS
    assert "settings.checks" in said.sentences[0]


def test_in_legacy_mode_the_live_order_is_said_to_decide_nothing(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    system_settings.set_mode(Mode.LEGACY, actor="ann", now=fleet.now)
    system_settings.current.forget()
    assert why(card).situation is Situation.LEGACY


def test_amid_a_cut_over_nothing_is_claimed(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    switching.start(Mode.LEGACY, actor="ann", now=fleet.now)
    said = why(card)
    assert said.situation is Situation.CUT_OVER
    assert "A cut-over to legacy is under way" in said.sentences[0]


# --- the live order --------------------------------------------------------------------------------------------


def test_while_redis_is_away_the_rows_say_when_it_is_due(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    due = database_now() + HOUR
    (card,) = fleet.cards(due=due)

    def away(*arguments: Any, **options: Any) -> None:
        raise RedisIsAway

    monkeypatch.setattr(Queue, "perform", away)
    said = why(card)
    assert said.situation is Situation.REDIS_AWAY
    assert "Redis, which holds the live order, cannot be reached" in said.sentences[0]
    assert any(line.startswith("Usage, each 1 h by the tier “all”: due at ") for line in said.schedule)
    assert said.next_at == due


def test_a_lost_order_is_told_apart_from_one_that_is_being_built(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    fleet.queue.ask(calls.begin_rebuild(fleet.account.pk))
    assert why(card).situation is Situation.ORDER_LOST
    right = Rebuild(fleet.redis, fleet.account.pk)
    assert right.taken()
    right.begin("ann", 1200, fleet.now)
    right.go_on(1000)
    said = why(card)
    assert said.situation is Situation.ORDER_BEING_BUILT
    assert "1,000 of 1,200 cards are in" in said.sentences[0]


def test_a_card_that_is_missing_in_the_order_is_said_to_be_put_in(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    fleet.queue.ask(calls.remove(fleet.account.pk, [card.pk]))
    assert why(card).situation is Situation.NOT_IN_ORDER


# --- as a whole ------------------------------------------------------------------------------------------------


def test_times_are_told_by_the_clocks_of_the_accounts_zone(fleet: Fleet) -> None:
    fleet.change(settings=settings_for("https://carrier.example") | {"timezone": "Asia/Shanghai"})
    (card,) = fleet.cards(due=fleet.now + HOUR)
    assert " Asia/Shanghai (in " in why(card).sentences[0]


def test_an_answer_takes_four_queries_whatever_the_account_has(fleet: Fleet) -> None:
    few = fleet.cards(2)
    cards = [few[0], *fleet.cards(100)[-1:]]
    counted = []
    for card in cards:
        row = Card.objects.get(pk=card.pk)
        why(card)  # settings and tiers are remembered from here on
        with CaptureQueriesContext(connection) as queries:
            explain(row, now=fleet.now)
        counted.append(len(queries))
    assert counted == [4, 4]


def test_programs_get_the_same_answer_as_people(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    said = why(card)
    answer = said.as_json()
    assert answer["situation"] == "waits_its_turn"
    assert [each["sentence"] for each in answer["reasons"]] + answer["schedule"] == list(said.sentences)


def test_the_command_line_gives_the_same_answer(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    shell, (card,) = Shell(capsys), fleet.cards(polling_enabled=False)
    assert shell.says("polling_why", card.iccid) == "Its polling is switched off. Switch it on, and it is asked soon."
    assert shell.values("polling_why", f"#{card.pk}")["situation"] == "card_off"
    for nobody in ("8986", "#0", "#"):
        assert shell.refuses("polling_why", nobody) == f"There is no card “{nobody}”."
