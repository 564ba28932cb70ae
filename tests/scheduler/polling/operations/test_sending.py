"""A poller stops and resumes cards of a carrier over HTTP: once each, within the limits, whatever the carrier says."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import OperationalError
from pytest_django import Settings

from alerts.models import Alert
from project.kit.clock import database_now
from scheduler.polling import connecting
from scheduler.polling import engine as engine_module
from scheduler.polling.carriers.simulator import (
    AccountPlan,
    Fault,
    FaultKind,
    RunningCarrier,
    settings_for,
    simulated_carrier,
)
from scheduler.polling.models import CardOperation, CarrierAccount
from scheduler.polling.operations import settling
from scheduler.polling.queue import Queue, calls
from scheduler.polling.states import OperationState
from tests.scheduler.polling.fleet.conftest import redis  # noqa: F401 - a fixture
from tests.scheduler.polling.fleets import claimed, counts, make_fleet, poller, wait_until
from tests.scheduler.polling.operations.mailbox import RESUME, Mailbox, ask, changes_of, states
from tests.scheduler.polling.test_poller import once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]

ACCEPTED, WAITING, FAILED = OperationState.ACCEPTED, OperationState.WAITING, OperationState.FAILED


@pytest.fixture
def carrier(settings: Settings) -> Iterator[RunningCarrier]:
    """A carrier that carries changes out at once, and one account of it that is slow."""
    quick = AccountPlan(latency=0, change_seconds=0, change_interval=3600)
    with simulated_carrier(quick, replace(quick, name="slow", latency=300)) as running:
        settings.TIDELINE_ALLOWED_HOSTS_INWARD = [running.place]
        yield running


@pytest.fixture
def mailbox(monkeypatch: pytest.MonkeyPatch) -> Mailbox:
    """What is sent out."""
    return Mailbox(monkeypatch)


def wait_for(*wanted: str) -> None:
    """Wait until the operations are in these states."""
    wait_until(lambda: states() == list(wanted), f"{wanted}")


def test_cards_are_stopped_and_accepted_and_free_again_for_their_checks(
    carrier: RunningCarrier, mailbox: Mailbox
) -> None:
    account = make_fleet(carrier, cards=4, stop_resume_max_in_flight=3)
    ask(account, 0, 1, 2)
    with poller() as engine:
        mailbox.deliver(engine)
        wait_for(ACCEPTED, ACCEPTED, ACCEPTED)
        wait_until(lambda: counts(account).running == 0, "the cards to be free")
    assert changes_of(carrier) == 3
    assert len(claimed(account)) == 4


def test_a_resume_of_a_card_that_is_active_is_refused_and_told(carrier: RunningCarrier, mailbox: Mailbox) -> None:
    account = make_fleet(carrier, cards=2)
    ask(account, kind=RESUME)
    with poller() as engine:
        mailbox.deliver(engine)
        wait_for(FAILED)
    assert Alert.objects.get().kind == "card_operation_failed"


def test_a_card_that_the_carrier_changed_too_lately_waits_on(carrier: RunningCarrier, mailbox: Mailbox) -> None:
    account = make_fleet(carrier, cards=2, stop_resume_min_interval=0)
    [first] = ask(account)
    with poller() as engine:
        mailbox.deliver(engine)
        wait_for(ACCEPTED)
        CardOperation.objects.filter(pk=first.pk).update(state="done", ended_at=database_now())
        ask(account, kind=RESUME)
        mailbox.deliver(engine)
        wait_until(lambda: CardOperation.objects.filter(error_class="cooldown").exists(), "the carrier's refusal")
    assert states() == ["done", WAITING]
    assert not Alert.objects.exists()


def test_after_a_throttled_change_the_account_is_held_and_no_further_one_is_asked(
    carrier: RunningCarrier, mailbox: Mailbox
) -> None:
    account = make_fleet(carrier, cards=4)
    carrier.order(Fault(kind=FaultKind.THROTTLE, account="main", endpoint="stop", retry_after=300))
    ask(account, 0, 1, 2)
    with poller() as engine:
        mailbox.deliver(engine)
        wait_for(WAITING, WAITING, WAITING)
    account.refresh_from_db()
    assert account.held_class == "throttled"
    assert changes_of(carrier) == 1
    assert not mailbox.round()


@pytest.mark.parametrize("kind", [FaultKind.CLOSE, FaultKind.SERVER, FaultKind.MALFORMED])
def test_after_no_answer_the_change_is_looked_for_and_never_asked_twice(
    carrier: RunningCarrier, mailbox: Mailbox, kind: FaultKind
) -> None:
    account = make_fleet(carrier, cards=2)
    carrier.order(Fault(kind=kind, account="main", endpoint="stop"))
    [operation] = ask(account)
    with poller() as engine:
        mailbox.deliver(engine)
        wait_for(ACCEPTED)
        operation.refresh_from_db()
        assert operation.accepted_at is None
        assert operation.confirmations.get().state == "waiting"
        assert not mailbox.deliver(engine)


def test_a_carrier_that_cannot_be_reached_is_asked_again_later(
    carrier: RunningCarrier, mailbox: Mailbox, settings: Settings
) -> None:
    settings.TIDELINE_ALLOWED_HOSTS_INWARD = ["127.0.0.1:9"]
    account = make_fleet(carrier, cards=2)
    CarrierAccount.objects.update(settings=settings_for("http://127.0.0.1:9"))  # where nobody listens
    [operation] = ask(account)
    with poller() as engine:
        mailbox.deliver(engine)
        wait_until(lambda: CardOperation.objects.filter(error_class="network").exists(), "the try to fail")
    operation.refresh_from_db()
    assert (operation.state, operation.sent_at, operation.tries) == (WAITING, None, 1)


def test_credentials_that_cannot_be_used_hold_the_account_and_the_operation_waits(
    carrier: RunningCarrier, mailbox: Mailbox
) -> None:
    account = make_fleet(carrier, cards=2)
    CarrierAccount.objects.update(credentials="{}")
    ask(account)
    with poller() as engine:
        mailbox.deliver(engine)
        wait_for(WAITING)
    account.refresh_from_db()
    assert account.held_class == "auth"
    assert changes_of(carrier) == 0


def test_a_poller_asks_for_no_more_changes_of_an_account_at_once_than_it_bears(
    carrier: RunningCarrier, mailbox: Mailbox
) -> None:
    account = make_fleet(carrier, "slow", cards=5, stop_resume_max_in_flight=2)
    ask(account, 0, 1, 2, 4)
    with poller() as engine:
        mailbox.deliver(engine)
        wait_for(*[ACCEPTED] * 4)
    assert carrier.stats("slow")["most_in_flight"] == 2


def test_what_the_carrier_said_is_written_when_the_database_is_back(
    carrier: RunningCarrier, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = make_fleet(carrier, cards=2)
    monkeypatch.setattr(settling, "settle", once(settling.settle, OperationalError("gone")))
    ask(account)
    with poller() as engine:
        mailbox.deliver(engine)
        wait_for(ACCEPTED)
    assert changes_of(carrier) == 1


def test_a_poller_that_stops_gives_back_what_it_has_not_begun_and_leaves_the_rest_to_the_leases(
    carrier: RunningCarrier, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "GRACE_SECONDS", 0.0)
    account = make_fleet(carrier, cards=3, stop_resume_max_in_flight=1)
    carrier.order(Fault(kind=FaultKind.HANG, account="main"))
    ask(account, 1, 2)
    with poller() as engine:
        mailbox.deliver(engine)
        wait_until(lambda: CardOperation.objects.filter(sent_at__isnull=False).exists(), "the first to be begun")
    assert sorted(states()) == [OperationState.SENDING, WAITING]
    assert counts(account).running == 0


def test_an_operation_waits_while_a_check_of_its_card_is_made(carrier: RunningCarrier, mailbox: Mailbox) -> None:
    account = make_fleet(carrier, cards=2)
    claims = {claim.card_id: claim for claim in claimed(account)}
    [operation] = ask(account)
    with poller() as engine:
        mailbox.deliver(engine)
        wait_for(WAITING)
        assert changes_of(carrier) == 0
        token = claims[operation.card_id].token
        Queue(connecting.client()).ask(calls.release(account.pk, [(operation.card_id, token)]))
        CardOperation.objects.update(due_at=database_now() - timedelta(seconds=1))
        mailbox.deliver(engine)
        wait_for(ACCEPTED)
