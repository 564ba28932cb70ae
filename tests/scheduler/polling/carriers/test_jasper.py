"""Cisco Control Center: what is sent, and what its answers mean."""

import base64
import json
from typing import Any

import pytest

from scheduler.polling.states import ErrorClass as Is
from tests.scheduler.polling.carriers.dialects.jasper import JASPER, refusal
from tests.scheduler.polling.carriers.dialects.speech import CARD
from tests.scheduler.polling.carriers.scripted import ScriptedCarrier
from tests.scheduler.polling.carriers.speaking import WHO, answered, refused, sent

CONSOLE = "<html><body>Seite nicht verfügbar</body></html>".encode("iso-8859-1")

OUTCOMES: list[tuple[int, dict[str, str], Any, str, Is]] = [
    (401, {}, refusal("10000001", "Invalid credentials"), "usage", Is.AUTH),
    (401, {}, {"errorMessage": "Full authentication is required to access this resource"}, "usage", Is.AUTH),
    (400, {}, refusal("10000030", "Your role does not have access to this API function."), "stop", Is.AUTH),
    (403, {}, b"", "card_status", Is.AUTH),
    (404, {}, refusal("20000001", "Resource not found - Invalid ICCID."), "usage", Is.CARD_MISSING),
    (404, {}, refusal("20000001", "Resource not found - Invalid ICCID."), "stop", Is.CARD_MISSING),
    # The host of the pages, not that of the API: it is no card's fault.
    (404, {"Content_Type": "text/html; charset=ISO-8859-1"}, CONSOLE, "usage", Is.MALFORMED),
    (302, {"Location": "https://rogers.jasper.com/login"}, b"", "usage", Is.MALFORMED),
    # The status of throttling is not documented: the code decides.
    (400, {}, refusal("40000029", "Rate Limit Exceeded"), "usage", Is.THROTTLED),
    (429, {}, refusal("40000029", "Rate Limit Exceeded"), "card_status", Is.THROTTLED),
    (200, {}, refusal("40000029", "Rate Limit Exceeded"), "resume", Is.THROTTLED),
    (400, {}, refusal("10000023", "The JSON in the request is not well formed."), "stop", Is.MALFORMED),
    (400, {}, refusal("10000024", "Invalid apiVersion."), "usage", Is.MALFORMED),
    (400, {}, refusal("10000028", "Invalid request."), "stop", Is.MALFORMED),
    (500, {}, refusal("30000001", "Unknown server error."), "usage", Is.SERVER),
    (502, {"Content_Type": "text/html; charset=ISO-8859-1"}, CONSOLE, "usage", Is.SERVER),
    (200, {}, b"", "usage", Is.MALFORMED),
    (200, {}, {"iccid": CARD.iccid}, "usage", Is.MALFORMED),
    (200, {}, {"status": "HIBERNATING", "ratePlan": "p"}, "card_status", Is.MALFORMED),
]


@pytest.mark.parametrize(("status", "headers", "document", "endpoint", "expected"), OUTCOMES)
def test_an_answer_has_one_meaning(
    scripted: ScriptedCarrier, status: int, headers: dict[str, str], document: Any, endpoint: str, expected: Is
) -> None:
    assert refused(JASPER, scripted, endpoint, status, headers, document).error_class is expected


def test_it_is_asked_with_the_user_and_the_key_as_basic_authorization(scripted: ScriptedCarrier) -> None:
    answered(JASPER, scripted, "usage", {"ctdDataUsage": 5})

    (asked,) = scripted.asked
    kind, encoded = asked.headers["authorization"].split()
    assert (kind, base64.b64decode(encoded).decode()) == ("Basic", f"{WHO.name}:{WHO.key}")


def test_usage_is_in_bytes_and_comes_with_the_package(scripted: ScriptedCarrier) -> None:
    usage = answered(JASPER, scripted, "usage", {"ctdDataUsage": 34_078_720, "ratePlan": "Rate Plan – 1 MB"})

    assert (usage.value, usage.unit, usage.as_of) == (34_078_720, "B", None)
    assert usage.columns == {"used_bytes": 34_078_720, "package": "Rate Plan – 1 MB"}


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("ACTIVATED", "active"),
        ("DEACTIVATED", "stopped"),
        ("ACTIVATION_READY", "ready"),
        ("TEST_READY", "testing"),
        ("INVENTORY", "stock"),
        ("RETIRED", "cancelled"),
        ("PURGED", "cancelled"),
        ("REPLACED", "cancelled"),
    ],
)
def test_state_and_package_come_in_one_answer(scripted: ScriptedCarrier, word: str, state: str) -> None:
    device = {"status": word, "ratePlan": "fleet-30"}

    assert answered(JASPER, scripted, "card_status", device).columns == {"state": state, "package": "fleet-30"}
    assert answered(JASPER, scripted, "package", device).value == "fleet-30"


@pytest.mark.parametrize(("change", "status"), [("stop", "DEACTIVATED"), ("resume", "ACTIVATED")])
def test_a_change_sets_the_status(scripted: ScriptedCarrier, change: str, status: str) -> None:
    answered(JASPER, scripted, change, {"iccid": CARD.iccid})

    ((line, body),) = sent(scripted)
    assert (line, json.loads(body)) == (f"PUT /devices/{CARD.iccid}", {"status": status})


def test_an_operator_may_have_a_status_of_its_own_for_stopped_cards(scripted: ScriptedCarrier) -> None:
    answered(JASPER, scripted, "stop", {}, stopped_status="SUSPENDED")
    reading = answered(JASPER, scripted, "card_status", {"status": "SUSPENDED"}, stopped_status="SUSPENDED")

    assert json.loads(scripted.asked[0].body) == {"status": "SUSPENDED"}
    assert reading.value == "stopped"


def test_what_the_carrier_has_added_is_told_in_the_settings(scripted: ScriptedCarrier) -> None:
    reading = answered(JASPER, scripted, "card_status", {"status": "TRIAL"}, states={"TRIAL": "testing"})
    with pytest.raises(Exception, match="does not allow that in the card's state") as caught:
        answered(JASPER, scripted, "stop", refusal("20000099", "No."), status=400, errors={"20000099": "state_forbids"})

    assert reading.value == "testing"
    assert caught.value.error_class is Is.STATE_FORBIDS  # type: ignore[attr-defined]
