"""China Mobile OneLink: what is sent, what its answers mean, and one token for all pollers."""

import asyncio
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from scheduler.polling import connecting
from scheduler.polling.carriers import wall_clock
from scheduler.polling.carriers.base import CarrierError, Gateway, Reading
from scheduler.polling.carriers.registry import read_access
from scheduler.polling.carriers.sessions import open_session
from scheduler.polling.carriers.simulator import AccountPlan, RunningCarrier, simulated_carrier
from scheduler.polling.carriers.tokens import Fetch, Token
from scheduler.polling.queue.keys import key_of
from scheduler.polling.sharing import SharedToken
from scheduler.polling.states import CheckType
from scheduler.polling.states import ErrorClass as Is
from tests.scheduler.polling.carriers.dialects.onelink import ONELINK, done, refusal
from tests.scheduler.polling.carriers.dialects.speech import CARD
from tests.scheduler.polling.carriers.gateways import CountingGate, card
from tests.scheduler.polling.carriers.scripted import ScriptedCarrier, reply
from tests.scheduler.polling.carriers.speaking import WHO, answered, asked_of_script, refused

OUTCOMES: list[tuple[int, dict[str, str], Any, str, Is]] = [
    # It answers 200 whatever happened: the code decides.
    (200, {}, refusal("12004", "鉴权不通过"), "usage", Is.AUTH),
    (200, {}, refusal("12022", "appid/password错误"), "token", Is.AUTH),
    (200, {}, refusal("12021", "TOKEN已过期"), "usage", Is.TOKEN_EXPIRED),
    (200, {}, refusal("12009", "号码不属于该集团"), "card_status", Is.CARD_NOT_OWNED),
    (200, {}, refusal("12010", "号码不存在"), "usage", Is.CARD_MISSING),
    (200, {}, refusal("11011", "无此卡"), "real_name", Is.CARD_MISSING),
    (200, {}, refusal("12089", "状态不允许"), "stop", Is.STATE_FORBIDS),
    (200, {}, refusal("12098", "非自主停机"), "resume", Is.STATE_FORBIDS),
    (200, {}, refusal("12099", "套餐已过期"), "resume", Is.STATE_FORBIDS),
    (200, {}, refusal("12100", "用量已用完"), "usage", Is.QUOTA_EXHAUSTED),
    (200, {}, refusal("11000", "参数错误"), "usage", Is.MALFORMED),
    (200, {}, refusal("19999", "?"), "usage", Is.MALFORMED),
    # A state among the answers of success means that there is no such card.
    (200, {}, done({"cardStatus": "99"}), "card_status", Is.CARD_MISSING),
    (200, {}, done({"cardStatus": "11"}), "card_status", Is.MALFORMED),
    (200, {}, done({"dataAmount": "-1"}), "usage", Is.MALFORMED),
    (200, {}, done(), "usage", Is.MALFORMED),
    (200, {}, {"result": [{"dataAmount": "1"}]}, "usage", Is.MALFORMED),
    (200, {}, b"<html>", "usage", Is.MALFORMED),
    (200, {}, done({"ttl": 1}), "token", Is.MALFORMED),
    (429, {"Retry_After": "5"}, b"", "usage", Is.THROTTLED),
    (404, {}, b"", "token", Is.AUTH),
    (502, {}, "<html>网关错误</html>".encode("gbk"), "usage", Is.SERVER),
]


@pytest.mark.parametrize(("status", "headers", "document", "endpoint", "expected"), OUTCOMES)
def test_an_answer_has_one_meaning(
    scripted: ScriptedCarrier, status: int, headers: dict[str, str], document: Any, endpoint: str, expected: Is
) -> None:
    assert refused(ONELINK, scripted, endpoint, status, headers, document).error_class is expected


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("00", "active"), ("01", "stopped"), ("02", "stopped"), ("03", "stopped"), ("04", "cancelled"),
        ("05", "cancelled"), ("06", "dormant"), ("07", "ready"),
        ("1", "ready"), ("2", "active"), ("4", "stopped"), ("6", "testing"), ("7", "stock"), ("8", "stopped"),
        ("9", "cancelled"),
    ],
)  # fmt: skip
def test_each_platform_has_words_of_its_own_for_states(scripted: ScriptedCarrier, word: str, state: str) -> None:
    assert answered(ONELINK, scripted, "card_status", done({"cardStatus": word})).value == state


def test_what_is_sent_says_who_asks_in_the_body_and_never_in_the_address(scripted: ScriptedCarrier) -> None:
    answered(ONELINK, scripted, "usage", done({"dataAmount": "1"}))

    token, usage = (json.loads(each.body) for each in scripted.asked)
    transid = re.compile(rf"{WHO.name}20\d{{12}}\d{{8}}")
    assert {**token, "transid": ""} == {"appid": WHO.name, "password": WHO.password, "transid": ""}
    assert {**usage, "transid": ""} == {"iccid": CARD.iccid, "token": "t0ken.of~onelink", "transid": ""}
    assert all(transid.fullmatch(each["transid"]) for each in (token, usage))
    assert token["transid"] != usage["transid"]
    assert all("?" not in each.line for each in scripted.asked)


@pytest.mark.parametrize(("number", "value"), [("iccid", CARD.iccid), ("msisdn", CARD.msisdn), ("imsi", CARD.imsi)])
def test_a_card_is_asked_for_by_the_number_that_the_account_says(
    scripted: ScriptedCarrier, number: str, value: str
) -> None:
    answered(ONELINK, scripted, "stop", done({number: value}), number=number)

    change = json.loads(scripted.asked[-1].body)
    assert (change[number], change["operType"]) == (value, "0")


@pytest.mark.parametrize(("platform", "of_midnight"), [("PB", True), ("CT", False), ("both", False)])
def test_usage_is_in_kb_and_of_pb_cards_as_of_midnight_in_china(
    scripted: ScriptedCarrier, platform: str, of_midnight: bool
) -> None:
    usage = answered(ONELINK, scripted, "usage", done({"dataAmount": "10.5"}), platform=platform)

    assert usage.value == 10752
    assert (usage.as_of == wall_clock.last_midnight(wall_clock.CHINA)) is of_midnight
    assert (usage.as_of is None) is not of_midnight


def test_usage_of_many_is_that_of_the_month_in_china_until_midnight(scripted: ScriptedCarrier) -> None:
    listed = done({"dataAmountList": [{"iccid": CARD.iccid, "dataAmount": "2", "apnDataAmountList": []}]})
    token = done({"token": "t0ken.of~onelink", "ttl": 7200})
    scripted.answer = lambda asked: reply(json.dumps(token if "token " in asked.line else listed).encode())

    outcomes = asked_of_script(ONELINK, scripted, lambda gateway: gateway.batches[CheckType.USAGE].ask([CARD]))

    usage, sent = outcomes[CARD.id], json.loads(scripted.asked[-1].body)
    assert isinstance(usage, Reading)
    assert (usage.value, usage.as_of) == (2048, wall_clock.last_midnight(wall_clock.CHINA))
    assert (sent["iccids"], sent["queryDate"]) == (CARD.iccid, f"{wall_clock.now_in(wall_clock.CHINA):%Y%m}")


def test_midnight_is_that_of_the_zone() -> None:
    midnight, now = wall_clock.last_midnight(wall_clock.CHINA), wall_clock.now_in(wall_clock.CHINA)

    assert timedelta(0) <= now - midnight < timedelta(days=1)
    assert (midnight.hour, midnight.minute, midnight.second) == (16, 0, 0)


@pytest.mark.parametrize(
    ("margins", "columns"),
    [
        ([{"offeringName": "30M", "totalAmount": "30720"}], {"package": "30M", "allowance_bytes": 30 * 1024**2}),
        (
            [{"offeringName": "30M", "totalAmount": "1"}, {"offeringName": "包", "totalAmount": "2"}],
            {"package": "30M + 包", "allowance_bytes": 3072},
        ),
        ([], {"package": "none", "allowance_bytes": 0}),
    ],
)
def test_packages_are_named_together_and_their_allowances_added(
    scripted: ScriptedCarrier, margins: Any, columns: Any
) -> None:
    assert answered(ONELINK, scripted, "package", done({"accmMarginList": margins})).columns == columns


# --- one token for all pollers ---------------------------------------------------------------------------------

ACCOUNT = 876_543


def calls_of_two_pollers(carrier: RunningCarrier, *, shared: bool) -> dict[str, int]:
    """Return what the carrier was asked while two pollers asked it in turn."""
    settings = {"base_url": f"{carrier.url}/main"}
    access = read_access("onelink", settings, ONELINK.credentials(carrier.plan()))

    async def run() -> None:
        async with connecting.async_client() as redis, open_session() as http:
            stores = [SharedToken(redis, ACCOUNT, settings) if shared else None for _ in range(2)]
            pollers: list[Gateway] = [access.open(http, CountingGate(), store) for store in stores]
            for _ in range(3):
                for poller in pollers:
                    await poller.card_status(card(1))

    asyncio.run(run())
    connecting.client().delete(key_of(ACCOUNT, "token"))
    calls: dict[str, int] = carrier.stats()["calls"]
    return calls


class Kept:
    """A token that another process fetched."""

    async def another(self, refused: str, fetch: Fetch) -> Token:
        return Token("t0ken.of~another", 3600)


def test_a_token_that_another_poller_fetched_is_a_secret_as_well(scripted: ScriptedCarrier, settings: Settings) -> None:
    scripted.answer = lambda asked: reply(json.dumps(refusal("12009", json.loads(asked.body)["token"])).encode())
    access = read_access("onelink", {"base_url": scripted.url}, ONELINK.credentials(WHO))

    async def ask() -> None:
        async with open_session() as http:
            await access.open(http, CountingGate(), Kept()).card_status(CARD)

    with pytest.raises(CarrierError) as caught:
        asyncio.run(ask())

    assert "another account" in caught.value.sentence
    assert "t0ken" not in caught.value.sentence


def test_two_pollers_use_one_token(settings: Settings) -> None:
    with simulated_carrier(AccountPlan(latency=0), dialect=ONELINK.dialect) as carrier:
        settings.TIDELINE_ALLOWED_HOSTS_INWARD = [carrier.place]

        assert calls_of_two_pollers(carrier, shared=True) == {"token": 1, "status": 6}


def test_each_with_a_token_of_its_own_they_would_end_each_others(settings: Settings) -> None:
    with simulated_carrier(AccountPlan(latency=0), dialect=ONELINK.dialect) as carrier:
        settings.TIDELINE_ALLOWED_HOSTS_INWARD = [carrier.place]

        assert calls_of_two_pollers(carrier, shared=False) == {"token": 6, "status": 6 + 4}
