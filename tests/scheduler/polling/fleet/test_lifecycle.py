"""Cards come, change and go: the rows say so first, the live order follows after the commit, and each step once more
changes nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any
from unittest import mock

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from redis import Redis
from redis.exceptions import ConnectionError as Away

from alerts.models import Alert
from alerts.recording import Problem, raise_alert
from project.kit.versions import StaleVersion
from scheduler.polling import cards, failures, settling
from scheduler.polling.carriers.base import Reading
from scheduler.polling.fleet import following, lifecycle
from scheduler.polling.fleet.initializing import rebuild
from scheduler.polling.models import Card, CardChange, CardCheck, CarrierAccount, PollingParams
from scheduler.polling.outcomes import Asked, Polled
from scheduler.polling.queue import Claim, Finish, Queue, Sight, calls
from scheduler.polling.states import CardState, CheckType
from tests.scheduler.polling.factories import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    iccid,
    make_account,
    make_card,
    make_cards,
    make_checks,
    make_tier,
)

pytestmark = pytest.mark.django_db

USAGE, STATUS = CheckType.USAGE, CheckType.CARD_STATUS


@pytest.fixture(autouse=True)
def _tier() -> None:
    make_tier()


@pytest.fixture
def committed(django_capture_on_commit_callbacks: Any, redis: Redis) -> Any:
    """Commits what happens within it, so that the live order follows."""

    @contextmanager
    def commit() -> Iterator[None]:
        with django_capture_on_commit_callbacks(execute=True):
            yield

    return commit


def account_in_order(redis: Redis, **fields: Any) -> CarrierAccount:
    account = make_account(**fields)
    rebuild(redis, account.pk, by="ann", now=NOW)
    return account


def in_order(queue: Queue, account: CarrierAccount) -> set[int]:
    return set(queue.cards(account.pk))


def sight(queue: Queue, card: Card, account: CarrierAccount | None = None) -> Sight:
    seen = queue.ask(calls.look((account or card.account).pk, card.pk))
    assert seen is not None
    return seen


def claim_of(queue: Queue, card: Card) -> Claim:
    half = Decimal("0.5")
    call = calls.claim(card.account_id, most=10, inflight_limit=10, lease=MINUTE, priority_share=half)
    (claim,) = (claim for claim in queue.ask(call).claims if claim.card_id == card.pk)
    return claim


# --- they come ---------------------------------------------------------------------------------------------------


def test_cards_that_come_are_due_soon_and_without_a_herd(redis: Redis, queue: Queue, committed: Any) -> None:
    account = account_in_order(redis)
    with committed():
        added = lifecycle.add_cards([Card(iccid=iccid(10**6 + n), account=account) for n in range(60)], now=NOW)
    assert in_order(queue, account) == {card.pk for card in added}
    dues = [sight(queue, card).due[STATUS] for card in added]
    assert all(due is not None and NOW <= due < NOW + MINUTE for due in dues)
    assert len(set(dues)) == 60


def test_many_cards_are_spread_so_that_half_of_the_accounts_calls_are_left() -> None:
    account = make_account()
    PollingParams.objects.create(account=account, rate_windows=[{"limit": 10, "seconds": 1}], changed_at=NOW)
    assert following.spread_of(account.pk, 1) == following.LEAST_SPREAD
    assert following.spread_of(account.pk, 1000) == 400 * SECOND
    PollingParams.objects.update(rate_windows=[])
    assert following.spread_of(account.pk, 1000) == following.LEAST_SPREAD


def test_a_number_that_is_there_already_lets_none_of_them_in(redis: Redis, queue: Queue, committed: Any) -> None:
    account = account_in_order(redis)
    there = make_card(account)
    with pytest.raises(IntegrityError), committed():
        lifecycle.add_cards(
            [Card(iccid=iccid(10**6), account=account), Card(iccid=there.iccid, account=account)], now=NOW
        )


def test_cards_that_are_not_to_be_polled_are_in_no_order(redis: Redis, queue: Queue, committed: Any) -> None:
    account, off = account_in_order(redis), make_account(active=False)
    with committed():
        lifecycle.add_cards(
            [
                Card(iccid=iccid(10**6), account=account, polling_enabled=False),
                Card(iccid=iccid(10**6 + 1), account=off),
            ],
            now=NOW,
        )
    assert in_order(queue, account) == in_order(queue, off) == set()


# --- they go -----------------------------------------------------------------------------------------------------


def test_a_card_that_goes_takes_its_rows_along_and_its_late_result_is_refused(
    redis: Redis, queue: Queue, committed: Any
) -> None:
    account = make_account()
    card, other = make_cards(account, 2)
    make_checks([card, other], due_at=NOW - HOUR)
    rebuild(redis, account.pk, by="ann", now=NOW)
    held = claim_of(queue, card)
    with committed():
        assert lifecycle.remove([card.pk], now=NOW) == 1
    assert queue.ask(calls.finish(account.pk, [Finish(card.pk, held.token, {USAGE: NOW}, {})])) == [False]
    assert in_order(queue, account) == {other.pk}
    assert list(CardCheck.objects.values_list("card_id", flat=True)) == [other.pk]


def test_a_card_that_is_gone_is_removed_once(committed: Any) -> None:
    card = make_card()
    assert [lifecycle.remove([card.pk], now=NOW) for _ in range(2)] == [1, 0]


@pytest.mark.parametrize("go", [lifecycle.remove, lifecycle.disable])
def test_the_alert_of_a_card_that_is_polled_no_more_ends(go: Any) -> None:
    card = make_card()
    make_checks([card], failures=5, first_failed_at=NOW)
    for check in (USAGE, STATUS):
        raise_alert(Problem("card_check_failing", failures.fingerprint(card.pk, check), "Card", "No answer."), now=NOW)
    go([card.pk], now=NOW + MINUTE)
    open_alerts = Alert.objects.filter(resolved_at__isnull=True)
    assert [alert.fingerprint for alert in open_alerts] == [failures.fingerprint(card.pk, STATUS)]  # it failed not


# --- they change -------------------------------------------------------------------------------------------------


def test_a_card_is_taken_out_while_it_is_not_polled_and_comes_back_soon(
    redis: Redis, queue: Queue, committed: Any
) -> None:
    account = account_in_order(redis)
    (card,) = make_cards(account, 1, polling_enabled=False)
    make_checks([card], STATUS, due_at=NOW + DAY)
    with committed():
        assert [lifecycle.enable([card.pk], now=NOW) for _ in range(2)] == [1, 0]
    due = sight(queue, card).due[STATUS]
    assert due is not None
    assert due < NOW + MINUTE
    with committed():
        assert [lifecycle.disable([card.pk], now=NOW) for _ in range(2)] == [1, 0]
    assert in_order(queue, account) == set()


def test_another_account_has_the_card_in_its_order_and_the_former_one_has_not(
    redis: Redis, queue: Queue, committed: Any
) -> None:
    former, latter = make_account(name="A"), account_in_order(redis, name="B")
    card = make_card(former)
    make_checks([card], due_at=NOW - HOUR)
    rebuild(redis, former.pk, by="ann", now=NOW)
    held = claim_of(queue, card)
    with committed():
        lifecycle.change({card.pk: {"account": latter}}, now=NOW)
    assert (in_order(queue, former), in_order(queue, latter)) == (set(), {card.pk})
    assert queue.ask(calls.finish(former.pk, [Finish(card.pk, held.token, {}, {})])) == [False]
    change = CardChange.objects.get()
    assert (change.field, change.before, change.after, change.at) == ("account", "A", "B", NOW)


def test_what_the_former_account_says_of_a_card_too_late_is_dropped() -> None:
    former, latter = make_account(), make_account()
    card = make_card(former)
    claim = Claim(former.pk, card.pk, 10**15, (USAGE,), {USAGE: 0})
    late = Polled(
        claim, cards.read([card.pk])[card.pk], [Asked(USAGE, NOW, Reading(7, "B", columns={"used_bytes": 7}))]
    )
    lifecycle.change({card.pk: {"account": latter}}, now=NOW)
    settled = settling.settle([late], now=NOW)
    card.refresh_from_db()
    assert (settled.written, settled.stale, card.used_bytes) == (0, 1, None)
    assert not CardCheck.objects.exists()


def test_another_state_moves_the_card_to_its_tier_and_a_later_check_forward(
    redis: Redis, queue: Queue, committed: Any
) -> None:
    make_tier(position=0, states=[CardState.ACTIVE], usage_seconds=60, card_status_seconds=60)
    account = make_account()
    card = make_card(account, state=CardState.STOPPED)
    make_checks([card], STATUS, due_at=NOW + 20 * HOUR)
    rebuild(redis, account.pk, by="ann", now=NOW)
    with committed():
        lifecycle.change({card.pk: {"state": CardState.ACTIVE}}, now=NOW)
    due = sight(queue, card).due[STATUS]
    assert due is not None
    assert NOW < due <= NOW + MINUTE


def test_another_reset_day_moves_the_last_usage_check_of_the_cycle(redis: Redis, queue: Queue, committed: Any) -> None:
    make_tier(position=0, usage_seconds=366 * 86_400, card_status_seconds=None)
    account = make_account()
    card = make_card(account, reset_day=20)
    make_checks([card], due_at=NOW + 18 * DAY)
    rebuild(redis, account.pk, by="ann", now=NOW)
    with committed():
        lifecycle.change({card.pk: {"reset_day": 2}}, now=NOW)
    due = sight(queue, card).due[USAGE]
    assert due is not None
    assert due < NOW + 12 * HOUR


def test_what_really_changed_is_kept_and_counted(committed: Any) -> None:
    card, other = make_cards(make_account(), 2)
    values: Any = {"msisdn": "8613800000000", "polling_enabled": False, "reset_day": 1}
    assert lifecycle.change({card.pk: values, other.pk: {"reset_day": 1}, 10**9: values}, now=NOW + HOUR) == 1
    kept = list(CardChange.objects.order_by("field").values_list("card", "field", "before", "after"))
    assert kept == [(card.pk, "msisdn", "", "8613800000000"), (card.pk, "polling_enabled", "on", "off")]
    card.refresh_from_db()
    other.refresh_from_db()
    assert (card.version, card.updated_at, other.version, other.updated_at) == (2, NOW + HOUR, 1, NOW)


def test_a_number_that_changes_leaves_the_order_alone(redis: Redis, queue: Queue, committed: Any) -> None:
    card = make_card()
    with mock.patch.object(following, "follow") as follow, committed():
        lifecycle.change({card.pk: {"msisdn": "8613800000000"}}, now=NOW)
    follow.assert_not_called()


def test_the_order_follows_the_rows_as_they_are_after_the_commit(redis: Redis, queue: Queue, committed: Any) -> None:
    account = account_in_order(redis)
    card = make_card(account, polling_enabled=False)
    with committed():
        lifecycle.enable([card.pk], now=NOW)
        Card.objects.update(polling_enabled=False)  # somebody else was quicker
    assert in_order(queue, account) == set()


def test_redis_that_is_away_stops_nobody(committed: Any, caplog: Any) -> None:
    card = make_card()
    with mock.patch.object(following, "follow", side_effect=Away), committed():
        assert lifecycle.disable([card.pk], now=NOW) == 1
    assert "the live order follows later" in caplog.text


# --- one card, by a form -----------------------------------------------------------------------------------------


def test_a_form_saves_what_changed_and_refuses_an_older_version() -> None:
    card = make_card()
    card.reset_day = 31
    assert lifecycle.save_changes(card, expected_version=1, now=NOW)
    assert Card.objects.get().reset_day == 31
    with pytest.raises(StaleVersion):
        lifecycle.save_changes(card, expected_version=1, now=NOW)
    assert not lifecycle.save_changes(card, expected_version=2, now=NOW)


@pytest.mark.parametrize(
    ("field", "value"), [("reset_day", 0), ("reset_day", 32), ("state", "gone"), ("imsi", "1" * 16)]
)
def test_a_form_refuses_what_cannot_be(field: str, value: Any) -> None:
    card = make_card()
    setattr(card, field, value)
    with pytest.raises(ValidationError) as refusal:
        lifecycle.save_changes(card, expected_version=1, now=NOW)
    assert list(refusal.value.message_dict) == [field]
