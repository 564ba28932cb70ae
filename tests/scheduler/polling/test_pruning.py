"""Which changes, requests and cut-overs go, and which stay whatever their age."""

from datetime import datetime
from typing import Any

import pytest

from project.kit.pruning import count, prune
from scheduler.polling import pruning
from scheduler.polling.models import CardChange, CheckRequest, CheckScene, Confirmation, Cutover
from scheduler.polling.states import CheckType, ConfirmationState, CutoverPhase, SceneKind
from tests.scheduler.factories import DAY, NOW
from tests.scheduler.polling.factories import make_card

pytestmark = pytest.mark.django_db

CHANGES, REQUESTS, CUTOVERS = pruning.KINDS
OLD, LIMIT = NOW - 100 * DAY, NOW - 90 * DAY


def make_request(*, asked_at: datetime | None = OLD) -> CheckRequest:
    """Insert an old request."""
    scene = CheckScene.objects.create(
        code="replaced", name="Replaced", kind=SceneKind.EVENT, types=[CheckType.CARD_STATUS]
    )
    return CheckRequest.objects.create(event_id="1", scene=scene, actor="ada", card_ids=[1], at=OLD, asked_at=asked_at)


def look_for(request: CheckRequest, ended_at: datetime | None) -> None:
    """Insert the looks of a request that end, if they do."""
    state = ConfirmationState.OVER if ended_at else ConfirmationState.WAITING
    Confirmation.objects.create(
        card=make_card(),
        type=CheckType.CARD_STATUS,
        request=request,
        delays=[],
        due_at=OLD,
        state=state,
        ended_at=ended_at,
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
    look_for(make_request(), ended_at=OLD)
    assert goes(REQUESTS) == 1
    assert Confirmation.objects.count() == 0


@pytest.mark.parametrize("ended_at", [None, NOW])
def test_a_request_stays_while_its_looks_are_under_way_or_were_lately(ended_at: datetime | None) -> None:
    look_for(make_request(), ended_at=ended_at)
    assert goes(REQUESTS) == 0


def test_a_request_that_was_not_passed_on_yet_stays() -> None:
    make_request(asked_at=None)
    assert goes(REQUESTS) == 0


def test_old_cutovers_go_but_the_latest() -> None:
    make_cutover()
    latest = make_cutover()
    assert goes(CUTOVERS) == 1
    assert Cutover.objects.get() == latest


def test_a_cutover_that_is_under_way_stays() -> None:
    make_cutover(ended_at=None)
    assert goes(CUTOVERS) == 0
