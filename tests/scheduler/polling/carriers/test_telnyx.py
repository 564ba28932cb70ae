"""Telnyx: what is sent, and what its answers mean."""

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from scheduler.polling.states import ErrorClass as Is
from tests.scheduler.polling.carriers.dialects.speech import CARD
from tests.scheduler.polling.carriers.dialects.telnyx import TELNYX, refusal, sim_card
from tests.scheduler.polling.carriers.scripted import ScriptedCarrier
from tests.scheduler.polling.carriers.speaking import WHO, answered, refused, sent

HERE = sim_card("7", CARD.iccid, "enabled", 2_049_000_000, "trucks")

OUTCOMES: list[tuple[int, dict[str, str], Any, str, Is, float | None]] = [
    (401, {}, refusal("10009", "Authentication failed"), "usage", Is.AUTH, None),
    (401, {}, b"", "usage", Is.AUTH, None),
    (403, {}, refusal("10010", "Authorization failed"), "stop", Is.AUTH, None),
    (429, {"x_ratelimit_reset": "7"}, refusal("10011", "Too many requests"), "usage", Is.THROTTLED, 7),
    (429, {}, refusal("10011", "Too many requests"), "usage", Is.THROTTLED, None),
    # Each answer says when the limits begin anew, which is no advice for other troubles.
    (500, {"x_ratelimit_reset": "7"}, refusal("10007", "Unexpected error"), "usage", Is.SERVER, None),
    (404, {}, refusal("10005", "Resource not found"), "stop", Is.CARD_MISSING, None),
    (404, {}, b"", "resume", Is.CARD_MISSING, None),
    (404, {}, b"", "usage", Is.MALFORMED, None),
    (200, {}, {"data": []}, "usage", Is.CARD_MISSING, None),
    (200, {}, {"data": [HERE | {"iccid": f"{CARD.iccid}0"}]}, "usage", Is.CARD_MISSING, None),
    (200, {}, {"data": []}, "lookup", Is.CARD_MISSING, None),
    (200, {}, {}, "usage", Is.MALFORMED, None),
    (200, {}, {"data": [{"iccid": CARD.iccid, "status": {"value": "melted"}}]}, "card_status", Is.MALFORMED, None),
    (422, {}, refusal("70000", "Consumption reached data limit"), "resume", Is.STATE_FORBIDS, None),
    (422, {}, refusal("70007", "SIM card doesn't have a SIM card group"), "resume", Is.STATE_FORBIDS, None),
    (422, {}, refusal("70004", "OTA update in progress"), "stop", Is.COOLDOWN, None),
    (422, {}, refusal("10015", "Bad Request"), "stop", Is.STATE_FORBIDS, None),
    (422, {}, refusal("10015", "Bad Request"), "usage", Is.MALFORMED, None),
    (408, {}, refusal("10008", "Request timeout"), "usage", Is.TIMEOUT, None),
    (503, {"Retry_After": "5"}, b"<html>", "usage", Is.SERVER, 5),
]


@pytest.mark.parametrize(("status", "headers", "document", "endpoint", "expected", "wait"), OUTCOMES)
def test_an_answer_has_one_meaning(
    scripted: ScriptedCarrier,
    status: int,
    headers: dict[str, str],
    document: Any,
    endpoint: str,
    expected: Is,
    wait: float | None,
) -> None:
    error = refused(TELNYX, scripted, endpoint, status, headers, document)

    assert (error.error_class, error.retry_after) == (expected, wait)


def test_it_is_searched_by_the_number_with_the_key(scripted: ScriptedCarrier) -> None:
    answered(TELNYX, scripted, "card_status", {"data": [HERE]})

    (asked,) = scripted.asked
    assert asked.headers["authorization"] == f"Bearer {WHO.key}"
    assert parse_qs(urlsplit(asked.line.split()[1]).query) == {
        "filter[iccid]": [CARD.iccid],
        "include_sim_card_group": ["true"],
    }


@pytest.mark.parametrize(("thousand", "used", "limit"), [(1000, 2049 * 10**6, 2 * 10**9), (1024, 2049 * 2**20, 2**31)])
def test_used_and_limit_have_units_of_their_own(
    scripted: ScriptedCarrier, thousand: int, used: int, limit: int
) -> None:
    usage = answered(TELNYX, scripted, "usage", {"data": [HERE]}, thousand=thousand)

    assert usage.columns == {"used_bytes": used, "allowance_bytes": limit}


def test_a_card_without_a_limit_has_no_allowance(scripted: ScriptedCarrier) -> None:
    usage = answered(TELNYX, scripted, "usage", {"data": [HERE | {"data_limit": None}]})

    assert usage.columns == {"used_bytes": 2049 * 10**6}


@pytest.mark.parametrize(("group", "package"), [({"name": "trucks"}, "trucks"), (None, "group-7")])
def test_the_package_is_the_group(scripted: ScriptedCarrier, group: Any, package: str) -> None:
    assert answered(TELNYX, scripted, "package", {"data": [HERE | {"sim_card_group": group}]}).value == package


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("registering", "ready"),
        ("enabling", "stopped"),  # as long as it is not done
        ("enabled", "active"),
        ("disabling", "active"),
        ("disabled", "stopped"),
        ("setting_standby", "active"),
        ("standby", "stopped"),
        ("data_limit_exceeded", "stopped"),
        ("unauthorized_imei", "stopped"),
    ],
)
def test_a_card_that_changes_is_what_it_was_until_it_is_done(scripted: ScriptedCarrier, word: str, state: str) -> None:
    part = HERE | {"status": {"value": word}}

    assert answered(TELNYX, scripted, "card_status", {"data": [part]}).value == state


@pytest.mark.parametrize(("change", "action"), [("stop", "disable"), ("resume", "enable")])
def test_a_change_is_an_action_of_the_carriers_own_number(scripted: ScriptedCarrier, change: str, action: str) -> None:
    answered(TELNYX, scripted, change, {"data": {"status": {"value": "in-progress"}}}, status=202)

    assert sent(scripted)[-1] == (f"POST /sim_cards/id-7/actions/{action}", b"")


def test_a_card_may_be_stopped_so_that_it_keeps_its_address(scripted: ScriptedCarrier) -> None:
    lines = {**TELNYX.lines, "stop": "POST /sim_cards/id-7/actions/set_standby "}
    kept = replace(TELNYX, lines=lines)

    answered(kept, scripted, "stop", {"data": {}}, status=202, stop_by="set_standby")

    assert len(scripted.asked) == 2
