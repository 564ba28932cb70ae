"""The due checks of a card: one after another, each for itself."""

import asyncio
import logging
from typing import Any

import pytest

from scheduler.polling.carriers.base import Busy, CardRef, CarrierError, Reading
from scheduler.polling.states import OF_THE_ACCOUNT, CheckType, ErrorClass
from scheduler.polling.stepping import SHORTEST_WAIT, Stepping, Work
from scheduler.polling.system_settings import Settings
from tests.scheduler.polling.factories import NOW, SECOND
from tests.scheduler.polling.gateways import (
    ACTIVE,
    SERVER_ERROR,
    THROTTLED,
    USED,
    ScriptedBatch,
    ScriptedGateway,
    access_to,
    hangs,
    work_on,
)

STATUS, USAGE, PACKAGE, REAL_NAME = CheckType.CARD_STATUS, CheckType.USAGE, CheckType.PACKAGE, CheckType.REAL_NAME
QUICK = Settings.model_construct(steps_timeout=0.02, steps_total_margin=0, gateway_max_wait=0)
USUAL = Settings()


def poll(gateway: Any, *works: Work, settings: Settings = USUAL) -> None:
    """Ask about the cards of one account as a poller does."""
    access = access_to(gateway)

    async def ask() -> None:
        stepping = Stepping(access, settings, lambda: NOW)
        given = await stepping.ask_together(works)
        await asyncio.gather(*(stepping.ask(work, given) for work in works))

    asyncio.run(ask())


def test_due_checks_are_made_one_after_another_in_the_configured_order() -> None:
    gateway = ScriptedGateway({USAGE: USED, STATUS: ACTIVE})
    work = work_on(1, USAGE, STATUS)
    poll(gateway, work)
    assert [check for check, _ in gateway.asked] == [STATUS, USAGE]
    assert [asked.reading for asked in work.polled.asked] == [ACTIVE, USED]


def test_a_check_that_the_order_does_not_name_comes_last() -> None:
    gateway = ScriptedGateway({USAGE: USED, STATUS: ACTIVE})
    poll(gateway, work_on(1, USAGE, STATUS), settings=Settings.model_construct(steps_order=(USAGE,)))
    assert [check for check, _ in gateway.asked] == [USAGE, STATUS]


def test_a_check_that_fails_does_not_keep_the_next_from_being_made() -> None:
    work = work_on(1, STATUS, USAGE)
    poll(ScriptedGateway({STATUS: SERVER_ERROR, USAGE: USED}), work)
    assert [(asked.type, asked.error) for asked in work.polled.asked] == [(STATUS, SERVER_ERROR), (USAGE, None)]


def test_a_gateway_that_is_at_fault_itself_fails_that_check_and_says_so_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    work = work_on(1, STATUS, USAGE)
    with caplog.at_level(logging.ERROR):
        poll(ScriptedGateway({STATUS: KeyError("state"), USAGE: USED}), work)
    status, usage = work.polled.asked
    assert status.error is not None
    assert status.error.error_class == ErrorClass.MALFORMED
    assert usage.reading == USED
    assert "KeyError" in caplog.text


def test_a_check_that_gets_no_answer_ends_at_its_own_timeout_and_the_next_is_made() -> None:
    work = work_on(1, STATUS, USAGE)
    poll(ScriptedGateway({STATUS: hangs, USAGE: USED}), work, settings=QUICK)
    status, usage = work.polled.asked
    assert status.error is not None
    assert status.error.error_class == ErrorClass.TIMEOUT
    assert usage.reading == USED


def test_case_29_all_checks_together_end_at_the_total_timeout_even_where_a_step_swallows_its_own() -> None:
    async def swallows(card: CardRef) -> Reading:
        try:
            return await hangs(card)
        except asyncio.CancelledError:
            return await hangs(card)

    work = work_on(1, STATUS, USAGE)
    poll(ScriptedGateway({STATUS: swallows, USAGE: USED}), work, settings=QUICK)
    (status,) = work.polled.asked
    assert status.error is not None
    assert status.error.error_class == ErrorClass.TIMEOUT


@pytest.mark.parametrize("error_class", sorted(OF_THE_ACCOUNT))
def test_a_trouble_of_the_account_is_no_result_of_the_card_and_ends_its_checks(error_class: ErrorClass) -> None:
    trouble = CarrierError(error_class, "Not now.")
    gateway = ScriptedGateway({STATUS: trouble, USAGE: USED})
    work = work_on(1, STATUS, USAGE)
    poll(gateway, work)
    assert (work.polled.asked, work.polled.trouble) == ([], trouble)
    assert len(gateway.asked) == 1


def test_case_43_after_one_card_was_throttled_no_other_card_of_the_account_is_asked() -> None:
    gateway = ScriptedGateway({STATUS: THROTTLED})
    works = [work_on(card, STATUS) for card in (1, 2, 3)]
    poll(gateway, *works)
    assert gateway.asked == [(STATUS, 1)]
    assert [work.polled.trouble for work in works] == [THROTTLED, None, None]


@pytest.mark.parametrize(("seconds", "waits"), [(0.2, SHORTEST_WAIT), (1.0, SHORTEST_WAIT), (30, 30 * SECOND)])
def test_a_wait_for_the_limiter_that_is_too_long_is_no_failure_and_comes_again_then(seconds: float, waits: Any) -> None:
    work = work_on(1, STATUS, USAGE)
    poll(ScriptedGateway({STATUS: Busy(seconds), USAGE: USED}), work)
    assert (work.polled.asked, work.polled.again_at) == ([], NOW + waits)


def test_what_failed_while_the_card_was_lost_is_no_result_and_what_was_answered_is() -> None:
    async def loses(card: CardRef) -> Reading:
        works[card.id].held.lost = True
        if card.id == 1:
            raise SERVER_ERROR
        return ACTIVE

    works = {card: work_on(card, STATUS) for card in (1, 2)}
    poll(ScriptedGateway({STATUS: loses}), *works.values())
    assert works[1].polled.asked == []
    assert [asked.reading for asked in works[2].polled.asked] == [ACTIVE]


def test_no_check_is_begun_after_the_card_was_lost() -> None:
    work = work_on(1, STATUS, USAGE)

    async def loses(card: CardRef) -> Reading:
        work.held.lost = True
        return ACTIVE

    gateway = ScriptedGateway({STATUS: loses, USAGE: USED})
    poll(gateway, work)
    assert [check for check, _ in gateway.asked] == [STATUS]
    assert [asked.reading for asked in work.polled.asked] == [ACTIVE]


def test_what_the_gateway_cannot_ask_is_said_and_not_asked() -> None:
    work = work_on(1, STATUS, PACKAGE)
    poll(ScriptedGateway({STATUS: ACTIVE}), work)
    assert work.polled.unsupported == {PACKAGE}
    assert [asked.type for asked in work.polled.asked] == [STATUS]


# --- many cards in one call ------------------------------------------------------------------------------------


def test_cards_with_the_same_check_are_asked_about_in_one_call_and_the_rest_one_by_one() -> None:
    together = ScriptedBatch(USED)
    gateway = ScriptedGateway({USAGE: USED, STATUS: ACTIVE}, {USAGE: together.batch})
    works = [work_on(1, USAGE, STATUS), work_on(2, USAGE), work_on(3, STATUS)]
    poll(gateway, *works)
    assert together.asked == [[1, 2]]
    assert sorted(gateway.asked) == [(STATUS, 1), (STATUS, 3)]
    assert [[asked.type for asked in work.polled.asked] for work in works] == [[STATUS, USAGE], [USAGE], [STATUS]]


def test_calls_are_no_larger_than_the_carrier_takes() -> None:
    together = ScriptedBatch(USED, size=2)
    poll(ScriptedGateway({USAGE: USED}, {USAGE: together.batch}), *(work_on(card, USAGE) for card in range(1, 6)))
    assert together.asked == [[1, 2], [3, 4], [5]]


def test_one_card_alone_is_asked_about_alone() -> None:
    together = ScriptedBatch(USED)
    gateway = ScriptedGateway({USAGE: USED}, {USAGE: together.batch})
    poll(gateway, work_on(1, USAGE))
    assert (together.asked, gateway.asked) == ([], [(USAGE, 1)])


def test_a_call_that_fails_is_the_failure_of_each_card_and_none_is_asked_once_more() -> None:
    gateway = ScriptedGateway({USAGE: USED}, {USAGE: ScriptedBatch(SERVER_ERROR).batch})
    works = [work_on(1, USAGE), work_on(2, USAGE)]
    poll(gateway, *works)
    assert gateway.asked == []
    assert [work.polled.asked[0].error for work in works] == [SERVER_ERROR, SERVER_ERROR]


def test_after_a_call_that_was_throttled_no_further_one_is_made() -> None:
    together = ScriptedBatch(THROTTLED, size=2)
    gateway = ScriptedGateway({USAGE: USED, STATUS: ACTIVE}, {USAGE: together.batch})
    works = [work_on(card, USAGE, STATUS) for card in range(1, 6)]
    poll(gateway, *works)
    assert together.asked == [[1, 2]]
    assert gateway.asked == []
    assert not any(work.polled.asked for work in works)
