"""An account's settings and credentials: what is wrong is named, with what to do about it."""

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from scheduler.polling.carriers.registry import KINDS, BadSettings, read_access
from scheduler.polling.carriers.simulator import AccountPlan, credentials_for, settings_for
from scheduler.polling.states import CheckType

GOOD: dict[str, Any] = {
    "base_url": "https://api.example.org/v1/",
    "auth": {"kind": "bearer"},
    "checks": {"usage": {"path": "/usage/{iccid}", "fields": {"used": "data.used", "unit": "MB"}}},
    "errors": {"code": "code", "codes": {"17": "throttled"}},
}
BATCH = {"path": "/many", "query": {"i": "{iccids}"}, "size": 100, "list": "cards", "id": "iccid"}

LISTED = {"list": "l", "id": "i", "found": "f"}


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the good settings with another value at a place; None takes it away."""
    settings = deepcopy(GOOD)
    *steps, last = path.split(".")
    part = settings
    for step in steps:
        part = part.setdefault(step, {})
    if value is None:
        del part[last]
    else:
        part[last] = value
    return settings


def problems(settings: Any, credentials: Any = None, gateway: str = "http_json") -> dict[str, str]:
    with pytest.raises(BadSettings) as caught:
        read_access(gateway, settings, credentials or {"key": "a key"})
    assert all(f"{place}: {sentence}" in str(caught.value) for place, sentence in caught.value.problems.items())
    return dict(caught.value.problems)


@pytest.mark.parametrize(
    ("path", "value", "place", "sentence"),
    [
        ("base_url", None, "base_url", "It is missing"),
        ("base_url", "http://10.0.0.1/", "base_url", "TIDELINE_ALLOWED_HOSTS_INWARD"),
        ("base_url", "https://u:p@a.example/", "base_url", "user name or password"),
        ("base_url", "https://a.example/?k=v", "base_url", "no query"),
        ("base_url", "ftp://a.example/", "base_url", "only https:// and http://"),
        ("timezone", "Asia/Peking", "timezone", "There is no such zone"),
        ("auth", {"kind": "magic"}, "auth", "'bearer'"),
        ("auth", {"kind": "header"}, "auth.header.name", "It is missing"),
        ("auth", {"kind": "header", "name": "a b"}, "auth.header.name", "cannot be the name of a header"),
        ("auth", {"kind": "header", "name": "X", "prefix": "a\nb"}, "auth.header.prefix", "printable ASCII"),
        ("auth", {"kind": "token"}, "auth.token.request", "It is missing"),
        (
            "auth",
            {"kind": "token", "request": {"path": "/t", "body": {"a": "{iccid}"}}},
            "auth.token.request",
            "{user}",
        ),
        (
            "auth",
            {"kind": "token", "request": {"path": "/t", "form": {"a": "b"}, "body": 1}},
            "auth.token.request",
            "leave one of them empty",
        ),
        (
            "auth",
            {"kind": "token", "base_url": "http://localhost", "request": {"path": "/t"}},
            "auth.token.base_url",
            "private network",
        ),
        ("checks", {}, "checks", "at least 1"),
        ("checks.balance", {"path": "/x", "fields": {}}, "checks.balance.[key]", "'usage'"),
        ("checks.usage.path", "usage/{iccid}", "checks.usage.path", "begins with one /"),
        ("checks.usage.path", "//elsewhere.example", "checks.usage.path", "begins with one /"),
        ("checks.usage.path", "/usage?x=1", "checks.usage.path", "belongs into the query"),
        ("checks.usage.path", "/usage/{icid}", "checks.usage", "{icid} is replaced by nothing"),
        ("checks.usage.query", {"a": "{iccids}"}, "checks.usage", "{iccids} is replaced by nothing"),
        ("checks.usage.body", {"a": [{"b": "{password}"}]}, "checks.usage", "{password} is replaced by nothing"),
        ("checks.usage.headers", {"Host": "elsewhere"}, "checks.usage.headers.Host.[key]", "cannot be the name"),
        ("checks.usage.method", "FETCH", "checks.usage.method", "'GET'"),
        ("checks.usage.fields.used", "data.[", "checks.usage.fields.used", "no JMESPath expression"),
        ("checks.usage.fields.used", "sume(a)", "checks.usage.fields.used", "cannot be called"),
        ("checks.usage.fields.used", None, "", "say in used where"),
        ("checks.usage.fields.unit", "MBit", "checks.usage.fields.unit", "B, KB, MB, GB or TB"),
        ("checks.usage.fields.thousand", 999, "checks.usage.fields.thousand", "1000 or 1024"),
        ("checks.usage.fields.state", "s", "checks.usage.fields", "say in states what"),
        ("checks.usage.fields.states", {"A": "alive"}, "checks.usage.fields.states.A", "'active'"),
        ("checks.usage.batch", BATCH | {"size": 1}, "checks.usage.batch.size", "greater than or equal to 2"),
        ("checks.usage.batch", BATCH | {"query": {}}, "checks.usage.batch", "exactly one of {iccids}"),
        ("checks.usage.batch", BATCH | {"fields": {"package": "p"}}, "", "checks.usage.batch.fields: say in used"),
        ("checks.usage.fields.left", "l", "checks.usage.fields", "say in allowance where"),
        ("checks.usage.among", {"list": "l", "id": ""}, "checks.usage.among.id", "at least 1"),
        ("checks.usage.path", "/usage/{carrier_id}", "", "say how {carrier_id} is found"),
        ("lookup", {"path": "/s/{iccids}", **LISTED}, "lookup", "{iccids} is replaced by nothing"),
        ("lookup", {"path": "/s/{iccid}/{imsi}", **LISTED}, "lookup", "exactly one of {iccid}, {iccid19}"),
        ("stop", {"path": "/stop/{iccids}"}, "stop", "{iccids} is replaced by nothing"),
        ("errors.code", None, "errors", "say where in the answer the code stands"),
        ("errors.waits", {"17": 0}, "errors.waits.17", "greater than 0"),
        ("errors.codes", {"17": "tired"}, "errors.codes.17", "'throttled'"),
        ("errors.endpoints", {"home": {}}, "errors.endpoints.home.[key]", "'token'"),
        ("timeouts", {"total": 0}, "timeouts.total", "greater than 0"),
        ("colour", "red", "colour", "There is no such field here"),
    ],
)
def test_a_setting_that_is_wrong_is_named_with_what_to_do(path: str, value: Any, place: str, sentence: str) -> None:
    found = problems(changed(path, value))

    assert list(found) == [f"settings.{place}".removesuffix(".")]
    assert sentence in next(iter(found.values()))


@pytest.mark.parametrize(
    ("auth", "lacking"),
    [
        ({"kind": "none"}, []),
        ({"kind": "basic"}, ["credentials.user", "credentials.password"]),
        ({"kind": "bearer"}, ["credentials.key"]),
        ({"kind": "query", "name": "k"}, ["credentials.key"]),
        (
            {"kind": "token", "request": {"path": "/t", "body": {"k": "{key}"}, "basic": True}},
            ["credentials.user", "credentials.password", "credentials.key"],
        ),
    ],
)
def test_credentials_that_the_authorization_needs_and_that_are_empty_are_named(auth: Any, lacking: list[str]) -> None:
    if not lacking:
        assert read_access("http_json", changed("auth", auth), {})
        return
    with pytest.raises(BadSettings) as caught:
        read_access("http_json", changed("auth", auth), {})

    assert list(caught.value.problems) == lacking


def test_a_card_is_found_in_a_list_by_one_number_only() -> None:
    usage = {"path": "/{iccid}/{imsi}", "fields": {"used": "u"}, "among": {"list": "l", "id": "i"}}

    assert "exactly one of {iccid}" in problems(changed("checks.usage", usage))["settings.checks.usage"]


def test_everything_that_is_wrong_is_named_at_once() -> None:
    settings = changed("timezone", "Mars") | {"colour": "red"}

    assert set(problems(settings, {"kay": "k"})) == {"settings.timezone", "settings.colour", "credentials.kay"}


def test_an_unknown_gateway_is_told_which_there_are() -> None:
    assert problems(GOOD, gateway="pigeon") == {
        "gateway": "There is no such gateway: choose one of " + ", ".join(KINDS) + "."
    }


def test_what_is_no_object_is_refused() -> None:
    assert set(problems(["not", "an", "object"])) == {"settings"}


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_every_gateway_has_schemas_for_its_forms(kind: Any) -> None:
    for model in (kind.settings, kind.credentials):
        schema = json.loads(json.dumps(model.model_json_schema()))
        assert schema["additionalProperties"] is False
        assert all("title" in field or "$ref" in field for field in schema["properties"].values())


@pytest.mark.parametrize("batch", [None, 100])
@pytest.mark.parametrize("token", [False, True])
def test_the_settings_for_the_simulated_carrier_are_good(settings: Settings, batch: int | None, token: bool) -> None:
    settings.TIDELINE_ALLOWED_HOSTS_INWARD = ["127.0.0.1"]
    said = settings_for("http://127.0.0.1:8900", batch=batch, token=token)

    access = read_access("http_json", json.loads(json.dumps(said)), credentials_for(AccountPlan(), token=token))

    assert set(access.settings.model_dump()["checks"]) == set(CheckType)


def test_the_settings_in_the_documentation_are_good() -> None:
    page = (Path(__file__).resolve().parents[4] / "docs" / "carriers.md").read_text()
    (example,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)

    assert read_access("http_json", json.loads(example), {"user": "u", "password": "a password"})
