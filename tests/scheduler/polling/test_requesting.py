"""Events ask for checks: once each, after the commit, by each card's own account, and never as a peak."""

from collections import Counter
from datetime import datetime
from typing import Any
from unittest import mock

import pytest
from django.db import transaction
from pytest_django import DjangoCaptureOnCommitCallbacks
from redis.exceptions import ConnectionError as RedisAway

from scheduler.polling import asking, confirming, connecting, passing_on, recalling
from scheduler.polling.carriers.base import Reading
from scheduler.polling.confirming import Seen
from scheduler.polling.fleet import initializing
from scheduler.polling.models import Card, CarrierAccount, CheckRequest, CheckScene, Confirmation, Device, PollingParams
from scheduler.polling.passing_requests import YOUNG
from scheduler.polling.queue import Queue, Sight, calls
from scheduler.polling.queue.keys import key_of
from scheduler.polling.requesting import CARDS_AT_ONCE, BadRequest, request_check
from scheduler.polling.states import CheckType
from tests.scheduler.polling.factories import (
    MINUTE,
    NOW,
    SECOND,
    make_account,
    make_card,
    make_cards,
    make_checks,
)
from tests.scheduler.polling.fleet.conftest import queue, redis  # noqa: F401 - fixtures
from tests.scheduler.polling.fleets import put_in_order

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

USAGE, PACKAGE = CheckType.USAGE, CheckType.PACKAGE
LATER = NOW + 2 * YOUNG


def fleet(count: int, **params: Any) -> tuple[CarrierAccount, list[Card]]:
    account = make_account()
    PollingParams.objects.create(account=account, changed_at=NOW, **{"rate_windows": []} | params)
    cards = make_cards(account, count)
    initializing.rebuild(connecting.client(), account.pk, by="test", now=NOW)
    return account, cards


def sight(card: Card) -> Sight:
    found = Queue(connecting.client()).ask(calls.look(card.account_id, card.pk))
    assert found is not None
    return found


def ask(cards: list[Card], event_id: str = "order:1", scene: str = "order_paid", **options: Any) -> CheckRequest:
    return request_check(scene, [card.pk for card in cards], event_id=event_id, actor="shop", now=NOW, **options)


def scan(now: datetime = LATER) -> str:
    return passing_on.pass_on_due(connecting.client(), now=now)


def fresh(request: CheckRequest) -> CheckRequest:
    return CheckRequest.objects.get(pk=request.pk)


# --- one event -------------------------------------------------------------------------------------------------


def test_a_scenes_checks_are_asked_for_after_the_commit(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    _, (card,) = fleet(1)
    with django_capture_on_commit_callbacks(execute=True):
        request = ask([card])
        assert not sight(card).asked
    assert set(sight(card).asked) == {USAGE, PACKAGE}
    assert (fresh(request).asked_at, fresh(request).outcome) == (NOW, {"asked": 1})


def test_an_event_that_is_rolled_back_asks_for_nothing() -> None:
    _, (card,) = fleet(1)
    with transaction.atomic():
        ask([card])
        transaction.set_rollback(True)
    scan()
    assert not CheckRequest.objects.exists()
    assert not sight(card).asked


def test_the_same_event_told_again_asks_once_and_returns_what_is_there() -> None:
    _, cards = fleet(2)
    first, again = ask(cards[:1]), ask(cards)
    assert again.pk == first.pk
    assert again.card_ids == [cards[0].pk]
    assert Confirmation.objects.filter(card=cards[1]).count() == 0


def test_a_device_means_each_of_its_cards_each_by_its_own_account() -> None:
    (one, (card,)), (other, (second,)) = fleet(1), fleet(1)
    device = Device.objects.create(code="gate")
    Card.objects.filter(pk__in=[card.pk, second.pk]).update(device=device)
    request = request_check("device_operated", [card.pk], event_id="e", actor="a", now=NOW, devices=[device.pk])
    scan()
    assert fresh(request).outcome == {"asked": 2}
    for account in (one, other):
        assert Queue(connecting.client()).ask(calls.count(account.pk)).asked == 1


def test_cards_that_are_gone_or_not_polled_are_counted_and_nothing_of_them_is_looked_at() -> None:
    _, (card,) = fleet(1)
    request = ask([card, make_card(polling_enabled=False), Card(pk=9_999_999)])
    scan()
    assert fresh(request).outcome == {"asked": 1, "not_polled": 2}
    assert set(Confirmation.objects.values_list("card", flat=True)) == {card.pk}


def test_a_card_that_is_polled_but_not_in_the_order_yet_is_put_there() -> None:
    account, _ = fleet(1)
    card = make_card(account)
    request = ask([card])
    scan()
    assert fresh(request).outcome == {"asked": 1}
    assert sight(card).asked


@pytest.mark.parametrize(
    ("scene", "event", "expected", "sentence"),
    [
        ("order_payed", "e", {}, "scene: there is none called"),
        ("order_paid", "", {}, "event_id: name the event"),
        ("order_paid", "x" * 201, {}, "event_id: it has 201 characters"),
        ("order_paid", "e", {CheckType.REAL_NAME: "verified"}, "does not check real_name"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_with_the_remedy(
    scene: str, event: str, expected: Any, sentence: str
) -> None:
    with pytest.raises(BadRequest, match=sentence):
        request_check(scene, [], event_id=event, actor="a", now=NOW, expected=expected)


def test_a_page_that_is_opened_needs_no_event_and_again_within_the_cooldown_asks_for_nothing() -> None:
    _, (card,) = fleet(1)
    first, second = ask([card], "", "asset_page_opened"), ask([card], "", "asset_page_opened")
    scan()
    assert first.event_id != second.event_id
    assert (fresh(first).outcome, fresh(second).outcome) == ({"asked": 1}, {"cooling": 1})


def test_a_scene_that_is_switched_off_asks_for_nothing_and_says_so() -> None:
    _, (card,) = fleet(1)
    CheckScene.objects.update(active=False)
    request = ask([card])
    scan()
    assert (fresh(request).asked_at, fresh(request).outcome) == (NOW, {"scene_off": 1})
    assert not Confirmation.objects.exists()


def test_two_events_of_a_card_are_one_check() -> None:
    _, (card,) = fleet(1)
    ask([card], "order:1")
    second = ask([card], "order:2")
    scan()
    assert fresh(second).outcome == {"merged": 1}


# --- what a crash kept from being passed on ----------------------------------------------------------------------


def test_what_redis_was_away_for_is_passed_on_by_the_next_scan(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    _, (card,) = fleet(1)
    away = mock.patch.object(asking.structure, "request", side_effect=RedisAway)
    with away, django_capture_on_commit_callbacks(execute=True):
        request = ask([card])
    assert fresh(request).asked_at is None
    assert scan() == "1 request and 0 looks passed on."
    assert fresh(request).outcome == {"asked": 1}


def test_a_crash_before_it_was_written_passes_it_on_again_and_its_looks_go_on() -> None:
    _, (card,) = fleet(1)
    request = ask([card], scene="device_operated")
    scan()
    CheckRequest.objects.update(asked_at=None, outcome={})
    scan()
    assert fresh(request).outcome == {"cooling": 1}
    waiting = Confirmation.objects.all()
    assert {(look.due_at, tuple(look.delays)) for look in waiting} == {(LATER + 30 * SECOND, (120,))}


def test_while_one_scan_is_at_it_another_does_nothing() -> None:
    _, (card,) = fleet(1)
    ask([card])
    connecting.client().set(passing_on.SCAN_KEY, "another")
    assert scan() == ""
    connecting.client().delete(passing_on.SCAN_KEY)
    assert scan() != ""


def test_a_lost_order_is_asked_again_for_what_was_not_checked_since() -> None:
    account, cards = fleet(3)
    answered, unanswered = ask(cards[:1], "1", "asset_page_opened"), ask(cards[1:], "2", "asset_page_opened")
    scan()
    for check in answered.scene.types:
        make_checks(cards[:2], CheckType(check), checked_at=LATER)
    Queue(connecting.client()).ask(calls.begin_rebuild(account.pk))
    for name in ("asked", "priority", "cooldowns"):
        connecting.client().delete(key_of(account.pk, name))
    put_in_order(account)
    recalling.ask_again([account.pk], now=LATER + MINUTE)
    assert fresh(answered).asked_at == LATER
    scan(LATER + MINUTE)
    assert fresh(unanswered).outcome == {"asked": 1, "checked": 1}
    assert [bool(sight(card).asked) for card in cards] == [False, False, True]


# --- many cards ------------------------------------------------------------------------------------------------


def wanted_a_second(account: CarrierAccount) -> Counter[int]:
    """Return how many cards are wanted in each second, as the live order knows it."""
    scores = [score for _, score in connecting.client().zrange(key_of(account.pk, "priority"), 0, -1, withscores=True)]
    first = min(scores)
    return Counter(int(score - first) // 1000 for score in scores)


def test_a_request_of_more_cards_than_anybody_waits_for_is_left_to_the_scan(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    _, cards = fleet(CARDS_AT_ONCE + 1)
    with django_capture_on_commit_callbacks(execute=True):
        request = ask(cards)
    assert fresh(request).asked_at is None
    scan()
    assert fresh(request).outcome == {"asked": len(cards)}


def show(cards: list[Card], seconds: dict[int, int], package: str, now: datetime) -> None:
    """Let carriers answer about the cards, each so long after an instant, as pollers settle it: in batches."""
    for first in range(0, len(cards), 1000):
        seen = [
            Seen(card.pk, check, now + seconds.get(card.pk, 0) * SECOND, Reading(package))
            for card in cards[first : first + 1000]
            for check in (PACKAGE, USAGE)
        ]
        confirming.observe(seen, now=now)


@pytest.mark.slow
def test_a_bulk_order_makes_no_peak_and_each_of_its_looks_is_taken_or_cancelled() -> None:
    count, limit = 20_000, 1000
    calls_a_second = limit * 8 // 10  # the priority's share
    CheckScene.objects.filter(code="order_paid").update(confirm_delays=[60])
    account, cards = fleet(count, rate_windows=[{"limit": limit, "seconds": 1}])
    request = ask(cards, expected={PACKAGE: "gold"})
    scan()
    assert fresh(request).outcome == {"asked": count}
    wanted = wanted_a_second(account)
    assert max(wanted.values()) * 2 <= calls_a_second
    assert len(wanted) >= count * 2 // calls_a_second

    booked, late = cards[::2], cards[1::2]
    slots = {card.pk: number * 2 // calls_a_second for number, card in enumerate(cards)}
    show(booked, slots, "gold", LATER)
    show(late, slots, "silver", LATER)
    while scan():
        pass
    asked = Counter(Confirmation.objects.filter(state="waiting").values_list("asked_at", flat=True))
    assert None not in asked
    assert max(asked.values()) <= calls_a_second
    show(cards, slots, "silver", LATER + MINUTE)
    looks_of_booked = Confirmation.objects.filter(card__in=[card.pk for card in booked], type=PACKAGE)
    assert set(looks_of_booked.values_list("state", "looks")) == {("confirmed", 1)}
    others = Confirmation.objects.exclude(pk__in=looks_of_booked)
    assert set(others.values_list("state", "looks")) == {("over", 2)}
    assert (looks_of_booked.count(), others.count()) == (count // 2, count * 3 // 2)
