"""Which changes, requests and cut-overs go, and which stay whatever their age."""

from datetime import datetime
from typing import Any

import pytest

from project.kit.pruning import count, prune
from scheduler.polling import pruning
from scheduler.polling.models import (
    Card,
    CardChange,
    CardOperation,
    CheckRequest,
    CheckScene,
    Confirmation,
    Cutover,
)
from scheduler.polling.states import (
    CheckType,
    ConfirmationState,
    CutoverPhase,
    OperationKind,
    OperationState,
    SceneKind,
)
from tests.scheduler.factories import DAY, NOW
from tests.scheduler.polling.factories import make_card

pytestmark = pytest.mark.django_db

CHANGES, REQUESTS, OPERATIONS, CUTOVERS = pruning.KINDS
OLD, LIMIT = NOW - 100 * DAY, NOW - 90 * DAY


def make_request(*, asked_at: datetime | None = OLD) -> CheckRequest:
    """Insert an old request."""
    scene = CheckScene.objects.create(
        code="replaced", name="Replaced", kind=SceneKind.EVENT, types=[CheckType.CARD_STATUS]
    )
    return CheckRequest.objects.create(event_id="1", scene=scene, actor="ada", card_ids=[1], at=OLD, asked_at=asked_at)


def make_operation(card: Card, *, sent_at: datetime | None = OLD, ended_at: datetime | None = OLD) -> CardOperation:
    """Insert an old stop of the card that has ended, unless `ended_at` is empty."""
    state = OperationState.DONE if sent_at else OperationState.CANCELLED
    return CardOperation.objects.create(
        card=card,
        account=card.account,
        kind=OperationKind.STOP,
        reason="lost",
        actor="ada",
        idempotency_key=f"stop {CardOperation.objects.count()}",
        state=state if ended_at else OperationState.ACCEPTED,
        created_at=OLD,
        due_at=OLD,
        sent_at=sent_at,
        ended_at=ended_at,
    )


def look_for(ended_at: datetime | None, **of: Any) -> None:
    """Insert the looks of a request or an operation that end, if they do."""
    state = ConfirmationState.OVER if ended_at else ConfirmationState.WAITING
    Confirmation.objects.create(
        card=make_card(),
        type=CheckType.CARD_STATUS,
        delays=[],
        due_at=OLD,
        state=state,
        ended_at=ended_at,
        **of,
    )


def make_cutover(ended_at: datetime | None = OLD) -> Cutover:
    """Insert an old cut-over."""
    phase = CutoverPhase.DONE if ended_at else CutoverPhase.DRAINING
    return Cutover.objects.create(
        wanted="legacy", phase=phase, actor="ada", started_at=OLD, phase_since=OLD, ended_at=ended_at
    )


def goes(kind: Any) -> int:
    """Prune, and return how many rows went; it is as many as were foretold."""
    expected = count(kind, before=LIMIT)
    assert sum(prune(kind, before=LIMIT)) == expected
    return expected


def test_old_changes_of_cards_go() -> None:
    card = make_card()
    for at in (OLD, NOW):
        CardChange.objects.create(card=card, field="state", before="ready", after="active", at=at)
    assert goes(CHANGES) == 1
    assert CardChange.objects.get().at == NOW


def test_a_request_goes_with_its_looks_when_they_are_over_for_long() -> None:
    look_for(OLD, request=make_request())
    assert goes(REQUESTS) == 1
    assert Confirmation.objects.count() == 0


@pytest.mark.parametrize("ended_at", [None, NOW])
def test_a_request_stays_while_its_looks_are_under_way_or_were_lately(ended_at: datetime | None) -> None:
    look_for(ended_at, request=make_request())
    assert goes(REQUESTS) == 0


def test_a_request_that_was_not_passed_on_yet_stays() -> None:
    make_request(asked_at=None)
    assert goes(REQUESTS) == 0


def test_old_operations_go_but_the_latest_that_was_sent_for_a_card() -> None:
    card, other = make_card(), make_card()
    make_operation(card), make_operation(card, sent_at=None)
    latest = make_operation(card)
    make_operation(card, sent_at=None), make_operation(other, sent_at=None)
    assert goes(OPERATIONS) == 4
    assert CardOperation.objects.get() == latest


def test_an_operation_that_is_open_stays() -> None:
    make_operation(make_card(), ended_at=None)
    assert goes(OPERATIONS) == 0


@pytest.mark.parametrize(("ended_at", "gone"), [(OLD, 1), (None, 0), (NOW, 0)])
def test_an_operation_goes_with_its_looks_when_they_are_over_for_long(ended_at: datetime | None, gone: int) -> None:
    card = make_card()
    look_for(ended_at, operation=make_operation(card))
    make_operation(card)
    assert goes(OPERATIONS) == gone
    assert Confirmation.objects.count() == 1 - gone


def test_old_cutovers_go_but_the_latest() -> None:
    make_cutover()
    latest = make_cutover()
    assert goes(CUTOVERS) == 1
    assert Cutover.objects.get() == latest


def test_a_cutover_that_is_under_way_stays() -> None:
    make_cutover(ended_at=None)
    assert goes(CUTOVERS) == 0
