"""What http_json adds to calls and answers by itself: the month, the midnight, and a token of all processes."""

import asyncio
import json
from typing import Any

import pytest

from scheduler.polling.carriers import wall_clock
from scheduler.polling.carriers.http_json.drafts import NOTHING, Draft
from scheduler.polling.carriers.registry import BadSettings, read_access
from scheduler.polling.carriers.sessions import open_session
from scheduler.polling.carriers.simulator import RunningCarrier, credentials_for, settings_for
from scheduler.polling.carriers.tokens import Fetch, Token
from scheduler.polling.states import CheckType
from tests.scheduler.polling.carriers.gateways import CountingGate, asked, card
from tests.scheduler.polling.carriers.scripted import ScriptedCarrier, reply

CHINA = {"timezone": "Asia/Shanghai"}
MANY = {"path": "/many", "query": {"i": "{iccids}", "m": "{month}"}, "size": 10, "list": "cards", "id": "iccid"}


def usage(**check: Any) -> dict[str, Any]:
    return {"checks": {"usage": {"path": "/usage/{iccid}", "fields": {"used": "used"}} | check}}


def test_the_month_is_that_of_the_accounts_zone_for_one_card_and_for_many(scripted: ScriptedCarrier) -> None:
    one = card(1)
    answer = {"used": 1, "cards": [{"iccid": one.iccid, "used": 1}]}
    scripted.answer = lambda asked: reply(json.dumps(answer).encode())
    settings = {"base_url": scripted.url, **CHINA, **usage(query={"month": "{month}"}, batch=MANY)}

    asked(settings, {}, lambda gateway: gateway.usage(one))
    asked(settings, {}, lambda gateway: gateway.batches[CheckType.USAGE].ask([one]))

    month = f"{wall_clock.now_in(wall_clock.CHINA):%Y%m}"
    lines = [each.line.split()[1] for each in scripted.asked]
    assert lines == [f"/usage/{one.iccid}?month={month}", f"/many?i={one.iccid}&m={month}"]


def test_the_month_alone_asks_for_no_card() -> None:
    with pytest.raises(BadSettings) as caught:
        read_access(
            "http_json", {"base_url": "https://a.example", **usage(batch=MANY | {"query": {"m": "{month}"}})}, {}
        )

    assert "exactly one of {iccids}" in str(caught.value)


@pytest.mark.parametrize("said", [None, "2026-11-29T10:00:00Z"])
def test_what_is_counted_until_midnight_is_as_of_midnight_unless_the_answer_says_otherwise(
    scripted: ScriptedCarrier, said: str | None
) -> None:
    scripted.answer = lambda asked: reply(json.dumps({"used": 1, "at": said}).encode())
    fields = {"used": "used", "as_of": "at", "as_of_midnight": True}

    settings = {"base_url": scripted.url, **CHINA, **usage(fields=fields)}
    reading = asked(settings, {}, lambda gateway: gateway.usage(card(1)))

    assert reading.as_of is not None
    assert (reading.as_of == wall_clock.last_midnight(wall_clock.CHINA)) is (said is None)


@pytest.mark.parametrize("shared", [True, False])
def test_a_token_is_that_of_all_processes_where_the_settings_say_so(carrier: RunningCarrier, shared: bool) -> None:
    fetched: list[Token] = []

    class Store:
        async def another(self, refused: str, fetch: Fetch) -> Token:
            fetched.append(await fetch())
            return fetched[0]

    settings = settings_for(carrier.url, token=True)
    settings["auth"] = settings["auth"] | {"shared": shared}
    access = read_access("http_json", settings, credentials_for(carrier.plan(), token=True))

    async def ask() -> None:
        async with open_session() as http:
            await access.open(http, CountingGate(), Store()).card_status(card(1))

    asyncio.run(ask())

    assert [token.seconds for token in fetched] == [3570] * int(shared)


def test_a_request_can_be_given_another_body() -> None:
    drafted = Draft("usage", "POST", "/usage", NOTHING, {"X-A": "b"}, None)

    assert drafted.document == {}
    changed = drafted.with_document({"a": "ü"})
    assert changed.document == {"a": "ü"}
    assert changed.request().headers == {"Content-Type": "application/json", "X-A": "b"}
