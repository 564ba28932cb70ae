"""Why a card is asked, or is not: told from rows and a live order that the domain itself wrote."""

from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from redis import Redis
from redis.exceptions import ConnectionError as RedisIsAway

from project.kit.clock import database_now
from quotas.ratelimit import Limiter, Window
from scheduler.explaining import Scan, Scans
from scheduler.polling import capacity, system_settings
from scheduler.polling.carriers.simulator import settings_for
from scheduler.polling.cutover import switching
from scheduler.polling.explaining import Explanation, Situation, explain
from scheduler.polling.fleet.initializing import rebuild
from scheduler.polling.fleet.rebuilds import Rebuild
from scheduler.polling.models import Card, CarrierAccount, PollingParams
from scheduler.polling.queue import Claim, Finish, Queue, calls, limiter_name
from scheduler.polling.states import CheckType, ErrorClass
from scheduler.polling.system_settings import Mode
from tests.scheduler.commands.asking import Shell
from tests.scheduler.polling.factories import HOUR, MINUTE, SECOND, make_account, make_cards, make_checks, make_tier
from tests.scheduler.polling.fleet.conftest import redis  # noqa: F401 - a fixture

pytestmark = pytest.mark.django_db

USAGE, STATUS = CheckType.USAGE, CheckType.CARD_STATUS


class Fleet:
    """An account at a carrier that can make every check, its cards, and the live order in which they stand."""

    def __init__(self, client: Redis) -> None:
        self.redis, self.queue = client, Queue(client)
        self.now = database_now()
        self.account = make_account(name="acme", gateway="http_json", settings=settings_for("https://carrier.example"))
        capacity.say(client, "polling.card", "poller", 1000)

    def cards(self, count: int = 1, *, due: datetime | None = None, **fields: Any) -> list[Card]:
        """Insert cards, due as said by rows, and put them in order."""
        cards = make_cards(self.account, count, **fields)
        for check in (USAGE, STATUS):
            make_checks(cards, check, due_at=due or self.now - SECOND)
        self.in_order()
        return cards

    def params(self, **said: Any) -> None:
        PollingParams.objects.create(account=self.account, changed_at=self.now, **said)

    def change(self, **fields: Any) -> None:
        CarrierAccount.objects.filter(pk=self.account.pk).update(**fields)

    def in_order(self) -> None:
        rebuild(self.redis, self.account.pk, by="ann", now=self.now)

    def claim(self, *, lease: timedelta = MINUTE, most: int = 1) -> tuple[Claim, ...]:
        options: dict[str, Any] = {"inflight_limit": 1000, "priority_share": Decimal("0.8")}
        return self.queue.ask(calls.claim(self.account.pk, most=most, lease=lease, **options)).claims


@pytest.fixture
def fleet(redis: Redis) -> Fleet:  # noqa: F811 - the fixture
    """A fleet whose one tier asks for usage each hour and status each day."""
    make_tier(name="all")
    return Fleet(redis)


def why(card: Card, *, dispatch: Scan | None = None, **options: Any) -> Explanation:
    """Ask about the card as the database has it."""
    return explain(Card.objects.get(pk=card.pk), now=database_now(), scans=Scans(dispatch=dispatch), **options)


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


# --- claimed ---------------------------------------------------------------------------------------------------


def test_a_claimed_card_waits_for_a_poller_until_one_asks_it(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    (claim,) = fleet.claim()
    said = why(card)
    assert said.situation is Situation.ON_ITS_WAY
    assert "It is claimed for usage and card status and waits in the queue polling.card" in said.sentences[0]
    fleet.queue.ask(calls.start(fleet.account.pk, "0123456789abcdef", MINUTE, [(card.pk, claim.token)]))
    said = why(card)
    assert said.situation is Situation.IN_WORK
    assert "work 01234567 asks it just now: usage and card status" in said.sentences[0]


def test_a_card_in_work_that_is_asked_for_is_asked_once_more(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    fleet.claim()
    fleet.queue.ask(calls.request(fleet.account.pk, [card.pk], [USAGE]))
    assert "is asked once more afterwards" in why(card).sentences[0]


def test_a_claim_whose_lease_has_ended_is_freed_by_the_next_round(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    fleet.claim(lease=timedelta(milliseconds=1))
    said = why(card)
    assert said.situation is Situation.LEASE_LOST
    assert "The next round frees it." in said.sentences[0]


# --- due -------------------------------------------------------------------------------------------------------


def test_a_due_card_says_how_many_stand_before_it_and_how_long_they_take(fleet: Fleet) -> None:
    fleet.params(rate_windows=[{"limit": 5, "seconds": 1}])
    fleet.cards(20, due=fleet.now - HOUR)
    (last,) = fleet.cards()
    said = why(last)
    assert said.situation is Situation.WAITS_ITS_TURN
    assert "20 cards of its account stand before it. At 5 in 1 s that takes 4 s at least." in said.sentences[0]
    assert said.next_at is not None


def test_the_first_due_card_is_claimed_by_the_next_round(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    assert "comes first: the next round claims it." in why(card).sentences[0]


def test_a_card_that_is_asked_for_goes_before_the_others(fleet: Fleet) -> None:
    fleet.cards(5)
    (card,) = fleet.cards(due=fleet.now + HOUR)
    fleet.queue.ask(calls.request(fleet.account.pk, [card.pk], [USAGE]))
    said = why(card)
    assert said.situation is Situation.WAITS_ITS_TURN
    assert "was asked for, so it goes before" in said.sentences[0]


def _silent(fleet: Fleet) -> Scan:
    return Scan(fleet.now - HOUR)


def _no_poller(fleet: Fleet) -> None:
    capacity.say(fleet.redis, "polling.card", "poller", 0)


def _all_in_work(fleet: Fleet) -> None:
    fleet.params(inflight_limit=1)
    fleet.claim()


@pytest.mark.parametrize(
    ("happens", "situation", "sentence"),
    [
        (_silent, Situation.NOBODY_DISPATCHES, "Start beat and a worker."),
        (_no_poller, Situation.NO_POLLER, "No poller reads the queue polling.card. Start one."),
        (_all_in_work, Situation.ALL_PLACES_TAKEN, "As many cards of “acme” are in work as may be at once: 1."),
    ],
)
def test_what_keeps_a_due_card_waiting_is_named_before_its_place(
    happens: Callable[[Fleet], Scan | None], situation: Situation, sentence: str, fleet: Fleet
) -> None:
    fleet.cards(due=fleet.now - HOUR)
    (card,) = fleet.cards()
    said = why(card, dispatch=happens(fleet))
    assert said.situation is situation
    assert sentence in said.sentences[0]
    assert said.reasons[-1].situation is Situation.WAITS_ITS_TURN


def test_a_card_that_waits_for_the_limit_is_told_which(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    fleet.params(rate_windows=[{"limit": 2, "seconds": 30, "even": False}])
    Limiter(fleet.redis, limiter_name(fleet.account.pk), [Window(2, 30, even=False)]).book(cost=2)
    turn, limit = why(card).reasons
    assert turn.situation is Situation.WAITS_ITS_TURN
    assert limit.situation is Situation.LIMIT_REACHED
    assert "calls of this second are made: its limit is 2 in 30 s." in limit.sentence


# --- later -----------------------------------------------------------------------------------------------------


def test_a_card_that_is_due_later_says_when(fleet: Fleet) -> None:
    due = fleet.now.replace(microsecond=0) + HOUR
    (card,) = fleet.cards(due=due)
    said = why(card)
    assert said.situation is Situation.DUE_LATER
    assert f"Nothing of it is due before {due:%Y-%m-%d %H:%M:%S} UTC (in " in said.sentences[0]
    assert said.next_at == due


def test_a_check_that_fails_says_how_often_and_with_what(fleet: Fleet) -> None:
    (card,) = make_cards(fleet.account, 1)
    failed = fleet.now - MINUTE
    make_checks([card], failures=3, first_failed_at=failed, last_failed_at=failed, error="502 from the carrier")
    fleet.in_order()
    (line,) = [line for line in why(card).schedule if line.startswith("Usage")]
    assert "It failed 3 times in a row, last at " in line
    assert line.endswith(" 502 from the carrier.")


def test_a_card_of_which_nothing_is_due_waits_until_somebody_asks(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    (claim,) = fleet.claim()
    never = dict.fromkeys((USAGE, STATUS), None)
    fleet.queue.ask(calls.finish(fleet.account.pk, [Finish(card.pk, claim.token, never, {})]))
    said = why(card)
    assert said.situation is Situation.NEVER_DUE
    assert said.next_at is None


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
