"""Stops and resumes that get in each other's way: a card is changed once, whoever asks, sends and comes late."""

from collections.abc import Iterator

import pytest
from django.core.exceptions import ValidationError
from django.db import transaction
from pytest_django import Settings

from project.kit.clock import database_now
from scheduler.polling import accounts, operations
from scheduler.polling.carriers.simulator import AccountPlan, RunningCarrier, simulated_carrier
from scheduler.polling.models import Card, CardOperation
from scheduler.polling.operations import claiming, settling
from scheduler.polling.operations.taken import Taken
from scheduler.polling.states import OperationKind, OperationState
from tests.races.helpers import Background, in_the_background, winner_holding
from tests.scheduler.polling.factories import MINUTE, NOW, make_tier
from tests.scheduler.polling.fleet.conftest import redis  # noqa: F401 - a fixture
from tests.scheduler.polling.fleets import claimed, counts, make_fleet, poller, wait_until
from tests.scheduler.polling.operations.desk import RESUME, ask, begin, claim, fresh, make_changeable
from tests.scheduler.polling.operations.mailbox import Mailbox, changes_of, states
from tests.scheduler.polling.operations.mailbox import ask as ask_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]


@pytest.fixture
def carrier(settings: Settings) -> Iterator[RunningCarrier]:
    """A carrier that takes a while to answer."""
    make_tier(usage_seconds=3600, card_status_seconds=3600)
    with simulated_carrier(AccountPlan(latency=200, change_interval=0)) as running:
        settings.TIDELINE_ALLOWED_HOSTS_INWARD = [running.place]
        yield running


@pytest.fixture
def mailbox(monkeypatch: pytest.MonkeyPatch) -> Mailbox:
    """What is sent out."""
    return Mailbox(monkeypatch)


# --- who asks ------------------------------------------------------------------------------------------------------


def refusal_of_a_resume(card: Card) -> str:
    """Ask for a resume, and return why that was refused."""
    try:
        ask(card, kind=RESUME)
    except ValidationError as refusal:
        return " ".join(refusal.messages)
    return ""


def test_of_two_who_ask_for_opposite_changes_at_once_the_second_is_refused() -> None:
    [card] = make_changeable()
    with winner_holding(card, then=lambda: ask(card)) as release:
        with in_the_background(lambda: refusal_of_a_resume(card)) as second:
            release.set()
        assert "a stop is open" in second.result()
    assert CardOperation.objects.get().kind == OperationKind.STOP


def test_the_same_key_from_two_at_once_makes_one_operation() -> None:
    [card] = make_changeable()
    with winner_holding(card, then=lambda: ask(card, key="order 7")) as release:
        with in_the_background(lambda: ask(card, key="order 7")) as second:
            release.set()
        assert second.result() == list(CardOperation.objects.all())


# --- who claims and begins -----------------------------------------------------------------------------------------


def test_who_claims_at_the_same_time_waits_for_what_the_first_has_taken_of_the_places() -> None:
    ask(*make_changeable(2, sr_inflight_limit=1))
    with transaction.atomic():
        assert len(claim()) == 1
        second = Background(claim)
        second.wait_until_it_waits()
    assert second.result() == []


def test_an_operation_that_somebody_holds_keeps_no_other_of_its_account_waiting() -> None:
    cards = make_changeable(2)
    held, free = ask(*cards)
    with winner_holding(held):
        assert [taken.operation_id for taken in claim()] == [free.pk]


def claim_all() -> list[Taken]:
    """Claim for all accounts, as a scan does."""
    now = database_now()
    return [one for part in claiming.claim(accounts.to_claim_for(now=now), now=now).values() for one in part]


def test_scans_at_the_same_time_claim_each_operation_once_and_keep_the_limit() -> None:
    cards = make_changeable(12, sr_inflight_limit=5)
    ask(*cards, now=database_now())
    with (
        in_the_background(claim_all) as one,
        in_the_background(claim_all) as two,
        in_the_background(claim_all) as three,
    ):
        taken = [*one.result(), *two.result(), *three.result()]
    assert len(taken) == len({each.operation_id for each in taken}) == 5


def test_an_operation_that_is_just_being_cancelled_is_not_claimed() -> None:
    [card] = make_changeable()
    [operation] = ask(card)
    with winner_holding(operation, then=lambda: operations.cancel(operation.pk, actor="bob", now=NOW)):
        assert not claim()
    assert fresh(operation).state == OperationState.CANCELLED


def test_of_two_senders_with_the_same_message_one_begins() -> None:
    [card] = make_changeable()
    [operation] = ask(card)
    [taken] = claim()
    with winner_holding(operation) as release:
        with in_the_background(lambda: begin(taken)) as one, in_the_background(lambda: begin(taken)) as other:
            release.set()
        assert sorted([one.result(), other.result()]) == [False, True]
    assert fresh(operation).tries == 1


def test_a_sender_that_lost_its_lease_while_it_asked_cannot_undo_what_was_decided_meanwhile() -> None:
    [card] = make_changeable()
    [operation] = ask(card)
    [taken] = claim()
    assert begin(taken)

    def lose() -> None:
        settling.settle_lost(now=NOW + MINUTE)

    with winner_holding(operation, then=lose) as release:
        with in_the_background(lambda: settling.settle(taken, None, now=NOW + MINUTE)) as late:
            release.set()
        assert late.result() is False
    assert fresh(operation).accepted_at is None


# --- pollers -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_message_that_comes_twice_and_to_two_pollers_changes_the_card_once(
    carrier: RunningCarrier, mailbox: Mailbox
) -> None:
    account = make_fleet(carrier, cards=3, stop_resume_max_in_flight=5)
    ask_of(account, 0, 1)
    [(account_id, taken)] = mailbox.round()
    with poller() as one, poller() as other:
        for engine in (one, other, one):
            engine.change(account_id, taken)
        # One that finds the card taken puts the operation off; the next round sends it.
        wait_until(lambda: mailbox.deliver(other) == [] and states() == ["accepted"] * 2, "both to be accepted")
        wait_until(lambda: counts(account).running == 0, "the cards to be free")
    assert changes_of(carrier) == 2


def test_a_card_is_never_checked_and_changed_at_once(carrier: RunningCarrier, mailbox: Mailbox) -> None:
    account = make_fleet(carrier, cards=1)
    [card] = Card.objects.all()
    claims = claimed(account)
    ask_of(account, 0)
    with poller() as checking, poller() as changing:
        checking.submit(account.pk, claims)
        wait_until(lambda: sum(carrier.stats("main")["calls"].values()), "the first check to be under way")
        mailbox.deliver(changing)
        wait_until(lambda: states() == ["waiting"] and counts(account).finished == 1, "the checks to end")
        CardOperation.objects.update(due_at=database_now())
        mailbox.deliver(changing)
        wait_until(lambda: changes_of(carrier), "the change to be under way")
        assert not claimed(account)
        wait_until(lambda: states() == ["accepted"], f"the card {card} to be changed")
    assert carrier.stats("main")["most_in_flight"] == 1
