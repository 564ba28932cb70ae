"""Alerts that stand over others: they speak for them, also for those that were there before, and for a while after."""

from collections.abc import Iterable
from datetime import timedelta

import pytest
from django.db.models import Q

from alerts import delivering
from alerts.families import GRACE
from alerts.models import Alert, Delivery, Event
from alerts.recording import Problem, raise_alert, raise_alerts, resolve_alert, resolve_alerts
from alerts.repeating import repeat_open, tell_untold
from alerts.states import Severity
from tests.alerts.factories import Clock, Sender, make_channel, make_silence, problem, tellings, told_to
from tests.scheduler.factories import NOW

ACCOUNT = "account_failing:1"
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
ITS_CARDS = Q(kind="card_failing", labels__account="1")

pytestmark = pytest.mark.django_db


def cards(numbers: Iterable[int], parent: str = ACCOUNT) -> list[Problem]:
    """Return problems of cards of the account."""
    labels = {"account": "1"}
    return [
        problem(f"card_failing:{number}", kind="card_failing", title=f"card {number}", parent=parent, labels=labels)
        for number in numbers
    ]


def account() -> Problem:
    return problem(ACCOUNT, kind="account_failing", title="Account 1")


def open_cards() -> list[Alert]:
    return list(Alert.objects.filter(kind="card_failing", resolved_at__isnull=True).order_by("pk"))


# --- the parent comes first ------------------------------------------------------------------------------------------


def test_case_64_a_thousand_cards_that_fail_at_once_are_one_message_that_later_says_how_many() -> None:
    channel = make_channel(repeat_hours=1)
    parent = raise_alert(account(), now=NOW)
    for minute in range(2):
        raise_alerts(cards(range(1000)), now=NOW + minute * MINUTE)
    assert told_to(channel) == ["opened"]
    assert {(card.parent_id, card.untold, card.count) for card in open_cards()} == {
        (parent.pk, "Part of “Account 1”.", 2)
    }
    repeat_open(now=NOW + HOUR)
    assert Event.objects.get(telling="repeated").text.endswith("\n1,000 alerts stand under it.")
    resolve_alerts([card.fingerprint for card in cards(range(999))], now=NOW + HOUR)
    resolve_alert(ACCOUNT, now=NOW + HOUR)
    assert told_to(channel) == ["opened", "repeated", "recovered"]
    assert Event.objects.get(telling="recovered").text == "It is well again.\n1 alert stands under it."


def test_case_64_the_account_may_be_raised_in_one_go_with_its_cards() -> None:
    channel = make_channel()
    for _ in range(2):
        raise_alerts([*cards(range(5)), account(), *cards(range(5, 10))], now=NOW)
    assert told_to(channel) == ["opened"]
    assert Event.objects.get().title == "Account 1"
    assert len(open_cards()) == 10


def test_of_an_alert_over_none_the_number_is_not_told() -> None:
    make_channel()
    raise_alert(account(), now=NOW)
    raise_alerts(cards([1]), now=NOW)
    resolve_alerts(["card_failing:1", ACCOUNT], now=NOW)
    assert Event.objects.get(telling="recovered").text == "It is well again."


def test_a_parent_that_is_not_open_or_is_itself_speaks_for_nobody() -> None:
    make_channel()
    raise_alerts(cards([1]), now=NOW)
    for _ in range(2):
        raise_alerts(cards([2], parent="card_failing:2"), now=NOW)
    assert tellings() == ["opened", "opened"]


def test_a_child_that_becomes_more_severe_is_spoken_for_all_the_same() -> None:
    critical = make_channel(least_severity=Severity.CRITICAL)
    raise_alerts(cards([1]), now=NOW)
    raise_alert(account(), now=NOW)
    raise_alerts([*cards([1]), problem("card_failing:1", severity=Severity.CRITICAL)], now=NOW)
    assert told_to(critical) == []


# --- the parent comes after ------------------------------------------------------------------------------------------


def test_case_64_of_a_storm_that_has_just_begun_only_the_account_is_told() -> None:
    make_channel()
    raise_alerts(cards(range(5), parent=""), now=NOW)
    raise_alerts([problem("card_failing:9", labels={"account": "2"}, kind="card_failing", title="other")], now=NOW)
    parent = raise_alert(account(), now=NOW, over=ITS_CARDS)
    waiting = Delivery.objects.filter(state="waiting").order_by("id")
    assert list(waiting.values_list("event__title", flat=True)) == ["other", "Account 1"]
    dropped = Delivery.objects.filter(state="dropped")
    assert set(dropped.values_list("meaning", "ended_at")) == {("Part of “Account 1”.", NOW)}
    mine = [card for card in open_cards() if card.parent_id == parent.pk]
    assert {(card.untold, card.told_at, card.told_severity) for card in mine} == {("Part of “Account 1”.", None, "")}
    assert len(mine) == 5


def test_what_was_sent_or_is_on_its_way_or_may_have_arrived_was_told_and_its_end_is_told() -> None:
    channel = make_channel()
    for number, columns in enumerate(
        [
            {"state": "sent", "outcome": "sent", "ended_at": NOW},
            {"state": "sending", "token": 1},
            {"state": "waiting", "outcome": "ambiguous", "tries": 1},
        ]
    ):
        raise_alerts(cards([number], parent=""), now=NOW)
        Delivery.objects.filter(event__title=f"card {number}").update(**columns)
    raise_alert(account(), now=NOW, over=ITS_CARDS)
    assert not Delivery.objects.filter(state="dropped").exists()
    assert [(card.told_at, card.untold) for card in open_cards()] == [(NOW, "")] * 3
    resolve_alerts([card.fingerprint for card in open_cards()], now=NOW)
    assert told_to(channel) == ["opened"] * 4 + ["recovered"] * 3


def test_a_card_that_comes_again_under_its_new_parent_is_not_told_if_it_was_not_yet() -> None:
    make_channel()
    raise_alerts(cards([1, 2]), now=NOW)
    raise_alert(account(), now=NOW)
    raise_alerts(cards([1]), now=NOW)
    states = Delivery.objects.order_by("id").values_list("event__title", "state")
    assert list(states) == [("card 1", "dropped"), ("card 2", "waiting"), ("Account 1", "waiting")]


def test_one_that_another_open_alert_speaks_for_is_left_there_and_none_stands_over_itself() -> None:
    make_channel()
    group = raise_alert(problem("group_failing:1", kind="card_failing", labels={"account": "1"}), now=NOW)
    raise_alerts(cards([1], parent="group_failing:1"), now=NOW)
    parent = raise_alert(account(), now=NOW, over=Q())
    assert Alert.objects.get(title="card 1").parent_id == group.pk
    group.refresh_from_db()
    assert (group.parent_id, Alert.objects.get(pk=parent.pk).parent_id) == (parent.pk, None)
    raise_alert(problem("group_failing:1", kind="card_failing"), now=NOW, over=Q())
    assert Alert.objects.get(pk=parent.pk).parent_id is None


# --- after its end ---------------------------------------------------------------------------------------------------


def test_cards_that_recover_one_after_another_after_their_account_make_no_storm() -> None:
    channel = make_channel()
    raise_alert(account(), now=NOW)
    raise_alerts(cards(range(10)), now=NOW)
    resolve_alert(ACCOUNT, now=NOW)
    for minute in range(9):
        assert tell_untold(now=NOW + minute * MINUTE) == 0
        resolve_alert(f"card_failing:{minute}", now=NOW + minute * MINUTE)
    raise_alerts(cards([9]), now=NOW + 10 * MINUTE)  # it still fails
    assert told_to(channel) == ["opened", "recovered"]
    assert tell_untold(now=NOW + GRACE - SECOND) == 0
    assert tell_untold(now=NOW + GRACE) == 1
    assert tell_untold(now=NOW + GRACE) == 0
    resolve_alert("card_failing:9", now=NOW + HOUR)
    assert told_to(channel) == ["opened", "recovered", "opened", "recovered"]
    assert Event.objects.order_by("at").last().title == "card 9"


def test_a_card_that_comes_again_when_the_grace_is_over_is_told_at_once() -> None:
    make_channel()
    raise_alert(account(), now=NOW)
    raise_alerts(cards([1]), now=NOW)
    resolve_alert(ACCOUNT, now=NOW)
    for _ in range(2):
        raise_alerts(cards([1]), now=NOW + GRACE)
    assert Event.objects.filter(telling="opened", title="card 1").count() == 1
    assert Alert.objects.get(title="card 1").untold == ""


def test_an_account_that_fails_again_takes_its_cards_back_and_gives_them_a_new_grace() -> None:
    channel = make_channel()
    raise_alert(account(), now=NOW)
    raise_alerts(cards([1, 2]), now=NOW)
    resolve_alert(ACCOUNT, now=NOW)
    again = raise_alert(account(), now=NOW + 5 * MINUTE)
    assert tell_untold(now=NOW + GRACE) == 0
    assert {card.parent_id for card in open_cards()} == {again.pk}
    resolve_alert(ACCOUNT, now=NOW + GRACE)
    assert tell_untold(now=NOW + 2 * GRACE - SECOND) == 0
    assert tell_untold(now=NOW + 2 * GRACE) == 2
    assert told_to(channel) == ["opened", "recovered"] * 2 + ["opened"] * 2


def test_what_was_dropped_under_a_parent_is_told_once_when_it_outlives_it() -> None:
    channel = make_channel()
    raise_alerts(cards([1], parent=""), now=NOW)
    raise_alert(account(), now=NOW, over=ITS_CARDS)
    resolve_alert(ACCOUNT, now=NOW)
    assert tell_untold(now=NOW + GRACE) == 1
    send = Sender()
    delivering.serve(channel.pk, send=send, clock=Clock(NOW + GRACE))
    assert send.told == [("opened", "Account 1"), ("recovered", "Account 1"), ("opened", "card 1")]


def test_a_card_of_which_somebody_knows_is_not_told_again_as_new_when_it_outlives_its_account() -> None:
    channel = make_channel(repeat_hours=1)
    raise_alerts(cards([1]), now=NOW)
    delivering.serve(channel.pk, send=Sender(), clock=Clock())
    raise_alert(account(), now=NOW, over=ITS_CARDS)
    resolve_alert(ACCOUNT, now=NOW + HOUR)
    assert tell_untold(now=NOW + HOUR + GRACE) == 0
    assert repeat_open(now=NOW + HOUR + GRACE - SECOND) == 0
    assert repeat_open(now=NOW + HOUR + GRACE) == 1


def test_one_that_outlives_its_parent_under_a_silence_waits_for_the_end_of_that_too() -> None:
    make_channel()
    raise_alert(account(), now=NOW)
    raise_alerts(cards([1]), now=NOW)
    resolve_alert(ACCOUNT, now=NOW)
    make_silence(kind="card_failing", ends_at=NOW + 2 * GRACE)
    assert tell_untold(now=NOW + GRACE) == 0
    assert tell_untold(now=NOW + 2 * GRACE) == 1
