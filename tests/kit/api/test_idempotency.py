"""What is sent twice with one key is done once, also when both arrive at the same time, and also after a crash."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from alerts import testing
from alerts.api import Silences
from alerts.models import Silence
from project.kit.api.models import IdempotentRequest
from tests.alerts.admin.desk import make_alert, make_hook
from tests.alerts.factories import SENT, Sender
from tests.kit.api.caller import Program, chief, chiefs_program, problem_of, token_of
from tests.races.helpers import PATIENCE_SECONDS, do_elsewhere, in_the_background

MIGRATION = {"reason": "Migration", "ends_at": "2999-01-01T00:00:00Z"}

at_once = pytest.mark.django_db(transaction=True)


def silence_with(program: Program, key: str, **said: Any) -> Any:
    """Ask for a silence under this key."""
    return program.post("silences/", MIGRATION | said, idempotency_key=key)


@pytest.mark.django_db
def test_the_second_request_with_a_key_is_answered_as_the_first_and_does_nothing() -> None:
    program = chiefs_program()
    first, second = silence_with(program, "a"), silence_with(program, "a")
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert (first.headers.get("Idempotency-Replayed"), second["Idempotency-Replayed"]) == (None, "true")
    assert Silence.objects.count() == 1


@pytest.mark.django_db
def test_another_key_or_none_is_another_request() -> None:
    program = chiefs_program()
    for key in ("a", "b"):
        silence_with(program, key)
    program.post("silences/", MIGRATION)
    assert Silence.objects.count() == 3


@pytest.mark.django_db
def test_a_key_belongs_to_its_user() -> None:
    assert [silence_with(chiefs_program(), "a").status_code for _ in range(2)] == [201, 201]
    assert Silence.objects.count() == 2


@pytest.mark.django_db
def test_a_key_that_was_used_for_something_else_is_refused() -> None:
    program, alert = chiefs_program(), make_alert()
    silence_with(program, "a")
    assert "another request" in problem_of(silence_with(program, "a", reason="Other"), 422)["detail"]
    problem_of(program.post(f"alerts/{alert.pk}/acknowledge/", idempotency_key="a"), 422)


@pytest.mark.django_db
def test_a_key_with_which_a_request_was_refused_can_be_used_again() -> None:
    program = chiefs_program()
    problem_of(silence_with(program, "a", reason=""), 400)
    assert silence_with(program, "a").status_code == 201


@pytest.mark.django_db
def test_an_action_of_the_panel_is_answered_once_too() -> None:
    program, alert = chiefs_program(), make_alert()
    address = f"alerts/{alert.pk}/resolve/"
    answers = [program.post(address, {"reason": "Fixed"}, idempotency_key="a") for _ in range(2)]
    assert [answer.json()["state"] for answer in answers] == ["resolved", "resolved"]
    problem_of(program.post(address, {"reason": "Fixed"}), 409)


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["", "x" * 201])
def test_a_key_has_a_length_that_can_be_stored(key: str) -> None:
    problem = problem_of(silence_with(chiefs_program(), key), 400)
    assert problem["errors"][0]["field"] == "Idempotency-Key"


@pytest.mark.django_db
def test_a_request_that_broke_down_leaves_its_key_free(monkeypatch: pytest.MonkeyPatch) -> None:
    program = chiefs_program()
    program.client.raise_request_exception = False
    with monkeypatch.context() as broken:
        broken.setattr(Silences, "audit", break_down)
        problem_of(silence_with(program, "a"), 500)
    assert not IdempotentRequest.objects.exists()
    assert not Silence.objects.exists()
    assert silence_with(program, "a").status_code == 201


# --- at the same time ------------------------------------------------------------------------------------------------


@at_once
def test_of_two_at_once_the_second_waits_and_is_answered_as_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    token = token_of(chief())
    with first_held_within(monkeypatch) as (arrived, release), in_the_background(lambda: ask(token)) as first:
        assert arrived.wait(PATIENCE_SECONDS)
        with in_the_background(lambda: ask(token)) as second:
            second.wait_until_it_waits()
            release.set()
        answers = [first.result(), second.result()]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    assert Silence.objects.count() == 1


@at_once
def test_of_two_at_once_the_second_acts_when_the_first_breaks_down(monkeypatch: pytest.MonkeyPatch) -> None:
    token = token_of(chief())
    with (
        first_held_within(monkeypatch, fails=True) as (arrived, release),
        in_the_background(lambda: ask(token)) as first,
    ):
        assert arrived.wait(PATIENCE_SECONDS)
        with in_the_background(lambda: ask(token)) as second:
            second.wait_until_it_waits()
            release.set()
        answers = [first.result(), second.result()]
    assert [answer.status_code for answer in answers] == [500, 201]
    assert Silence.objects.count() == 1


@at_once
def test_while_a_request_calls_out_a_second_one_is_refused_and_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    token, hook = token_of(chief()), make_hook()
    answers: list[Any] = []

    def send_test() -> Any:
        return Program(token).post(f"channels/{hook.pk}/test/", idempotency_key="a")

    sender = Sender(SENT, during=lambda: answers.append(do_elsewhere(send_test)))
    monkeypatch.setattr(testing, "send", sender)
    answers.append(send_test())
    assert "has not been answered yet" in problem_of(answers[0], 409)["detail"]
    assert answers[1].status_code == 200
    assert send_test().json() == answers[1].json()
    assert len(sender.messages) == 1


def ask(token: str) -> Any:
    """Ask for a silence under one key."""
    program = Program(token)
    program.client.raise_request_exception = False
    return silence_with(program, "a")


@contextmanager
def first_held_within(
    monkeypatch: pytest.MonkeyPatch, *, fails: bool = False
) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Hold the first request amid what it does; yield what tells that it is there, and what lets it go on."""
    arrived, release, add = threading.Event(), threading.Event(), Silences.add

    def held(self: Silences, values: dict[str, Any], **asked: Any) -> Silence:
        if arrived.is_set():
            return add(self, values, **asked)
        arrived.set()
        release.wait(PATIENCE_SECONDS)
        if fails:
            break_down()
        return add(self, values, **asked)

    monkeypatch.setattr(Silences, "add", held)
    try:
        yield arrived, release
    finally:
        release.set()


def break_down(*_: object) -> None:
    """Break down."""
    raise RuntimeError
