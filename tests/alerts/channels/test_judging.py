"""What receivers answer is read rightly, by the rules of whoever answered."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.channels.base import Answer, Verdict
from alerts.channels.judging import judge
from alerts.channels.registry import HTTP_FORMATS
from alerts.states import DeliveryOutcome
from tests.alerts.channels.answers import ANSWERS, FEISHU, HTML, Told
from tests.alerts.channels.factories import ADDRESSES, HTTP_NAMES

SECRET = "7f3c9b2e-secret-in-the-address"


def as_bytes(body: object) -> bytes:
    match body:
        case bytes():
            return body
        case str():
            return body.encode()
    return json.dumps(body).encode()


def verdict_on(told: Told, *, chosen: str = "") -> Verdict:
    answer = Answer(told.status, told.headers, as_bytes(told.body))
    return judge(HTTP_FORMATS[chosen or told.host], ADDRESSES[told.host], answer)


def name_of(told: Told) -> str:
    return f"{told.host} {told.status} {str(told.body)[:60]}" + (f" case {told.case}" if told.case else "")


@pytest.mark.parametrize("told", ANSWERS, ids=name_of)
def test_the_answer_means_what_the_platform_means_by_it(told: Told) -> None:
    verdict = verdict_on(told)
    assert (verdict.outcome, verdict.code) == (told.outcome, told.code or str(told.status))
    assert verdict.retry_after == told.wait
    assert told.says in verdict.meaning


@pytest.mark.parametrize("told", ANSWERS, ids=name_of)
def test_each_meaning_is_a_sentence_and_success_waits_for_nothing(told: Told) -> None:
    verdict = verdict_on(told)
    assert verdict.meaning.endswith(".")
    assert verdict.outcome is DeliveryOutcome.RETRY or verdict.retry_after is None


@pytest.mark.parametrize("told", [told for told in ANSWERS if told.host != "generic"], ids=name_of)
def test_case_65_the_host_decides_whatever_format_was_chosen(told: Told) -> None:
    assert {verdict_on(told, chosen=chosen) for chosen in HTTP_NAMES} == {verdict_on(told)}


@pytest.mark.parametrize("body", [HTML, "fine", "[1, 2]"])
@pytest.mark.parametrize("name", HTTP_NAMES)
def test_case_67_words_that_are_not_the_platforms_prove_nothing_and_any_2xx_is_success_of_a_webhook(
    name: str, body: str
) -> None:
    verdict = judge(HTTP_FORMATS[name], ADDRESSES[name], Answer(200, {}, body.encode()))
    assert verdict.outcome is (DeliveryOutcome.SENT if name == "generic" else DeliveryOutcome.AMBIGUOUS)


@pytest.mark.parametrize("told", FEISHU, ids=name_of)
def test_at_a_host_that_nobody_knows_the_chosen_format_decides(told: Told) -> None:
    answer = Answer(told.status, told.headers, as_bytes(told.body))
    assert judge(HTTP_FORMATS["feishu"], "https://feishu.company.example/hook/1", answer) == verdict_on(told)


def test_the_table_is_large_and_knows_every_format_and_outcome() -> None:
    assert len(ANSWERS) >= 90
    assert {told.host for told in ANSWERS} == set(HTTP_NAMES)
    for host in HTTP_NAMES:
        assert len({told.outcome for told in ANSWERS if told.host == host}) == len(DeliveryOutcome)


def test_no_answer_stands_in_the_table_twice() -> None:
    keys = Counter((told.host, told.status, str(told.body), str(told.headers)) for told in ANSWERS)
    assert [key for key, count in keys.items() if count > 1] == []


def echoes() -> list[object]:
    """Return bodies in which the receiver writes the secret wherever a code or a word may stand."""
    return [
        SECRET,
        {"code": SECRET, "msg": SECRET},
        {"code": 19024, "msg": SECRET},
        {"code": 9499, "msg": f"too many {SECRET}"},
        {"errcode": SECRET, "errmsg": SECRET},
        {"errcode": 93000, "errmsg": f"invalid webhook url {SECRET}"},
        {"errcode": 310000, "errmsg": f"sign not match {SECRET}"},
        {"ok": False, "error": SECRET},
        {"error": {"code": SECRET, "message": SECRET}},
        {"error": SECRET},
        f"returned HTTP error 413 {SECRET}",
    ]


@pytest.mark.parametrize("name", HTTP_NAMES)
@pytest.mark.parametrize("body", echoes(), ids=str)
def test_what_the_other_side_writes_never_stands_in_the_verdict(name: str, body: object) -> None:
    for status in (200, 302, 400, 404, 429, 500, 503):
        answer = Answer(status, {"location": f"https://{SECRET}/", "retry-after": SECRET}, as_bytes(body))
        assert SECRET not in repr(judge(HTTP_FORMATS[name], ADDRESSES[name], answer))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["code", "StatusCode", "errcode", "msg", "errmsg", "error", "ok"]), inner)
    ),
    max_leaves=10,
)


@given(
    name=st.sampled_from(HTTP_NAMES),
    status=st.integers(0, 999),
    body=st.binary() | JSON_VALUES.map(lambda value: json.dumps(value).encode()),
    headers=st.dictionaries(st.sampled_from(["retry-after", "date"]), st.text()),
)
def test_whatever_comes_back_is_judged(name: str, status: int, body: bytes, headers: dict[str, str]) -> None:
    verdict = judge(HTTP_FORMATS[name], ADDRESSES[name], Answer(status, headers, body))
    assert verdict.outcome in DeliveryOutcome
    assert not (verdict.outcome is DeliveryOutcome.SENT and not 200 <= status < 300)
