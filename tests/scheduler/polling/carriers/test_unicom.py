"""China Unicom: what is sent, and what its answers mean."""

import hashlib
import json
from typing import Any

import pytest

from scheduler.polling.carriers import unicom
from scheduler.polling.carriers.registry import BadSettings, read_access
from scheduler.polling.states import ErrorClass as Is
from tests.scheduler.polling.carriers.dialects.speech import CARD
from tests.scheduler.polling.carriers.dialects.unicom import UNICOM, done, refusal, refused_by_the_gateway
from tests.scheduler.polling.carriers.scripted import ScriptedCarrier
from tests.scheduler.polling.carriers.speaking import WHO, answered, refused

TERMINAL = {
    "iccid": CARD.iccid,
    "simStatus": "2",
    "realNameStatus": "2",
    "monthToDateDataUsage": "1.5",
    "ratePlan": "月30M",
}
ADDRESS = {"base_url": "https://gwapi.example.org/api"}
OUTCOMES: list[tuple[int, dict[str, str], Any, str, Is]] = [
    (401, {}, refused_by_the_gateway("0401", "token错误"), "usage", Is.AUTH),
    (403, {}, b"", "stop", Is.AUTH),
    (429, {"Retry_After": "5"}, b"", "usage", Is.THROTTLED),
    (500, {}, b"<html>", "usage", Is.SERVER),
    (503, {}, refused_by_the_gateway("9999", "系统异常"), "stop", Is.SERVER),
    # What is within counts, whatever the gateway says of its own part.
    (200, {}, refusal("1074", "账期超出范围"), "usage", Is.MALFORMED),
    (200, {}, refused_by_the_gateway("0006", "无权限"), "card_status", Is.MALFORMED),
    (200, {}, done(terminals=[]), "usage", Is.CARD_MISSING),
    (200, {}, done(terminals=[TERMINAL | {"iccid": "89860000000000000000"}]), "card_status", Is.CARD_MISSING),
    (200, {}, done(), "usage", Is.MALFORMED),
    (200, {}, done(terminals=[TERMINAL | {"simStatus": "42"}]), "card_status", Is.MALFORMED),
    (200, {}, done(terminals=[TERMINAL | {"realNameStatus": "x"}]), "real_name", Is.MALFORMED),
    (200, {}, done(terminals=[TERMINAL | {"monthToDateDataUsage": "?"}]), "usage", Is.MALFORMED),
    (200, {}, done(terminals=[TERMINAL | {"ratePlan": ""}]), "package", Is.MALFORMED),
    (200, {}, b"", "stop", Is.MALFORMED),
    (404, {}, b"", "stop", Is.CARD_MISSING),
    (404, {}, b"", "usage", Is.MALFORMED),  # of a list it is the address
]


@pytest.mark.parametrize(("status", "headers", "document", "endpoint", "expected"), OUTCOMES)
def test_an_answer_has_one_meaning(
    scripted: ScriptedCarrier, status: int, headers: dict[str, str], document: Any, endpoint: str, expected: Is
) -> None:
    assert refused(UNICOM, scripted, endpoint, status, headers, document).error_class is expected


def test_a_card_that_is_so_already_is_as_good_as_changed(scripted: ScriptedCarrier) -> None:
    assert answered(UNICOM, scripted, "stop", refusal("1193", "已是目标状态")) is None
    assert answered(UNICOM, scripted, "resume", refusal("1193", "已是目标状态")) is None


def test_a_code_that_the_account_explains_has_its_meaning(scripted: ScriptedCarrier) -> None:
    answer = refusal("9000", "操作过于频繁")

    with pytest.raises(Exception, match="changed too lately"):
        answered(UNICOM, scripted, "stop", answer, errors={"9000": "cooldown"})


def test_one_answer_says_everything_of_a_card(scripted: ScriptedCarrier) -> None:
    usage = answered(UNICOM, scripted, "usage", done(terminals=[TERMINAL]))

    assert (usage.value, usage.unit, usage.as_of) == (1_572_864, "B", None)
    assert usage.columns == {
        "state": "active",
        "real_name_state": "verified",
        "package": "月30M",
        "used_bytes": 1_572_864,
    }


@pytest.mark.parametrize(
    ("word", "real_name"), [("0", "not_needed"), ("1", "needed"), ("2", "verified"), ("3", "verified")]
)
def test_real_names_have_their_words(scripted: ScriptedCarrier, word: str, real_name: str) -> None:
    terminal = TERMINAL | {"realNameStatus": word}

    assert answered(UNICOM, scripted, "real_name", done(terminals=[terminal])).value == real_name


# --- tokens ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["sm3", "sha256"])
def test_a_token_is_calculated_as_the_account_says(scripted: ScriptedCarrier, algorithm: str) -> None:
    answered(UNICOM, scripted, "usage", done(terminals=[TERMINAL]), token=algorithm)

    sent = json.loads(scripted.asked[0].body)
    values = [WHO.name, sent["timestamp"], sent["trans_id"]]
    text = {
        "sm3": f"app_id{values[0]}timestamp{values[1]}trans_id{values[2]}{WHO.password}",
        "sha256": f"{values[0]}{values[1]}{values[2]}{WHO.password}",
    }[algorithm]
    assert sent["token"] == hashlib.new(algorithm, text.encode()).hexdigest()
    assert sent["trans_id"][:17] == "".join(filter(str.isdigit, sent["timestamp"]))
    assert sent["data"] == {
        "iccids": [CARD.iccid],
        "messageId": sent["trans_id"],
        "openId": "open-1",
        "version": "1.0",
    }


def test_sm3_is_the_standards() -> None:
    # The first example of GB/T 32905.
    assert unicom.has_sm3()
    assert unicom._sm3({"a": "b"}, "c") == "66c7f0f462eeedd9d1f2d46bdc10e4e24167c4875cf2f7a2297da02b8f4ba8e0"


def test_without_sm3_the_account_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unicom, "has_sm3", lambda: False)

    with pytest.raises(BadSettings) as caught:
        read_access("unicom", ADDRESS | {"token": "sm3"}, UNICOM.credentials(WHO))

    assert "install its wheel from PyPI" in caught.value.problems["settings.token"]
    assert read_access("unicom", ADDRESS | {"token": "sha256"}, UNICOM.credentials(WHO))
