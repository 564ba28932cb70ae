"""Every refusal is a problem document with a sentence, and never shows a value as Python writes it."""

import json
import logging
from typing import Any

import pytest
from django.core.exceptions import SuspiciousOperation
from django.test import Client

from alerts.api import Alerts
from project.kit.api.throttling import PerCaller
from tests.alerts.admin.desk import make_alert, make_hook
from tests.kit.api.caller import chiefs_program, problem_of

pytestmark = pytest.mark.django_db

A_CHANNEL = {"name": "ops", "address": "https://hooks.example.org/x"}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"{", "The body is not JSON. Look at line 1, column 2."),
        (b'{"a": NaN}', "“NaN” is no JSON. Leave the field out, or write null."),
        (b'{"name": "\\u0000"}', "A text holds the character \\u0000, which cannot be stored. Leave it out."),
        (b'{"labels": {"\\u0000": "x"}}', "A text holds the character \\u0000, which cannot be stored. Leave it out."),
        (b'{"name": "\\ud800"}', "The body is not UTF-8, or names half a character as \\ud800 does."),
        (b"\xff", "The body is not UTF-8, or names half a character as \\ud800 does."),
        (b"[" * 100_000, "The body nests too deeply, or holds a number that is too long."),
        (b"1" * 10_000, "The body nests too deeply, or holds a number that is too long."),
    ],
)
def test_a_body_that_cannot_be_read_is_refused_with_the_reason(body: bytes, sentence: str) -> None:
    assert problem_of(chiefs_program().post("channels/", body), 400)["detail"] == sentence


def test_a_body_that_is_too_long_is_refused_before_it_is_read(settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    problem_of(chiefs_program().post("channels/", {"name": "x" * 100}), 413)


def test_a_body_that_is_no_json_is_told_how_to_say_so() -> None:
    program = chiefs_program()
    response = program.client.post("/api/channels/", A_CHANNEL, headers=program.headers)  # as a form
    assert "application/json" in problem_of(response, 415)["detail"]


@pytest.mark.parametrize("path", ["nothing/", "alerts", "alerts/x/", "alerts/999/", f"alerts/{10**30}/", "alerts/1/x/"])
def test_where_there_is_nothing_that_is_said(path: str) -> None:
    assert problem_of(chiefs_program().get(path), 404)["detail"] == "There is nothing under this address."


def test_a_wrong_method_is_told_the_right_ones() -> None:
    program = chiefs_program()
    assert problem_of(program.send("delete", "alerts/"), 405)["detail"] == "This address takes GET."
    assert problem_of(program.send("put", "channels/", {}), 405)["detail"] == "This address takes GET, POST."


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("name", {"a": None}, "Write a text."),
        ("name", "", "It may not be empty."),
        ("enabled", {"a": 1}, "Write true or false."),
        ("repeat_hours", "often", "Write a whole number."),
        ("kinds", "run_failed", "Write a list."),
        ("labels", None, "This field may not be null."),
        ("labels", ["a"], "Write an object of texts."),
        ("least_severity", {"a": None}, "Choose one of: info, warning, critical."),
        ("least_severity", True, "Choose one of: info, warning, critical."),
        ("colour", "red", "There is no such field."),
    ],
)
def test_a_wrong_field_is_named_with_a_sentence(field: str, value: Any, sentence: str) -> None:
    problem = problem_of(chiefs_program().post("channels/", A_CHANNEL | {field: value}), 400)
    assert problem["errors"] == [{"field": field, "sentence": sentence}]
    assert problem["detail"] == f"{field}: {sentence}"


def test_a_field_within_another_is_named_with_dots() -> None:
    problem = problem_of(chiefs_program().post("channels/", A_CHANNEL | {"labels": {"a": {"b": None}}}), 400)
    assert problem["errors"] == [{"field": "labels.a", "sentence": "Write a text."}]


def test_all_wrong_fields_are_named_at_once() -> None:
    problem = problem_of(chiefs_program().post("channels/", {"name": ""}), 400)
    assert {error["field"] for error in problem["errors"]} == {"name", "address"}


@pytest.mark.parametrize("body", [[], "x", 3])
def test_a_body_that_is_no_object_is_refused(body: Any) -> None:
    problem = problem_of(chiefs_program().post("channels/", body), 400)
    assert problem["errors"] == [{"field": "", "sentence": "Write a JSON object."}]


def test_what_is_not_possible_now_is_a_conflict() -> None:
    program, alert = chiefs_program(), make_alert()
    program.post(f"alerts/{alert.pk}/acknowledge/")
    assert "sees to it already" in problem_of(program.post(f"alerts/{alert.pk}/acknowledge/"), 409)["detail"]


def test_who_asks_too_often_is_told_how_long_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PerCaller, "rate", "2/hour", raising=False)
    program, other = chiefs_program(), chiefs_program()
    assert [program.get("alerts/").status_code for _ in range(2)] == [200, 200]
    response = program.get("alerts/")
    assert problem_of(response, 429)["detail"].startswith("You ask too often. Ask again in ")
    assert int(response["Retry-After"]) > 3000
    assert other.get("alerts/").status_code == 200


def test_an_unforeseen_error_is_logged_and_tells_nothing_of_itself(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def break_down(*_: object) -> None:
        raise RuntimeError("secret of the house")

    monkeypatch.setattr(Alerts, "list", break_down)
    program = chiefs_program()
    program.client.raise_request_exception = False
    with caplog.at_level(logging.ERROR):
        response = program.get("alerts/")
    assert "secret of the house" not in json.dumps(problem_of(response, 500))
    assert "secret of the house" in caplog.text


def test_a_suspicious_request_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def suspect(*_: object) -> None:
        raise SuspiciousOperation("x")

    monkeypatch.setattr(Alerts, "list", suspect)
    assert problem_of(chiefs_program().get("alerts/"), 400)["detail"] == "The request cannot be read."


def test_a_browser_that_wants_a_page_gets_the_json_all_the_same() -> None:
    client = chiefs_program()
    assert client.get("alerts/", Accept="text/html")["Content-Type"] == "application/json"
    assert Client().get("/api/alerts/", headers={"Accept": "text/html"}).status_code == 401


def test_secrets_that_cannot_be_right_are_not_repeated_in_the_refusal() -> None:
    hook = make_hook()
    response = chiefs_program().patch(
        f"channels/{hook.pk}/", {"address": "ftp://token@x"}, if_match=f'"{hook.version}"'
    )
    assert "token" not in json.dumps(problem_of(response, 400))
