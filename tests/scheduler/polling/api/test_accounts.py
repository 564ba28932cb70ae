"""Carrier accounts over the API: credentials go in and never come out; held, switched, rebuilt, deleted."""

import json
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.http import HttpResponse

from project.kit.secrets import DOTS
from scheduler.polling.carriers.simulator import settings_for
from scheduler.polling.models import CarrierAccount, PollingParams
from tests.kit.api.caller import chiefs_program, problem_of
from tests.scheduler.polling.admin.desk import CARRIER, KEY, make_reached_account, put_in_order
from tests.scheduler.polling.factories import make_account, make_card

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

ACME = {"name": "Acme", "gateway": "http_json", "settings": settings_for(CARRIER), "credentials": {"key": KEY}}
ELSEWHERE = {"settings": settings_for("https://elsewhere.example.org")}


def address_of(account: CarrierAccount, action: str = "") -> str:
    return f"polling-accounts/{account.pk}/{action}/" if action else f"polling-accounts/{account.pk}/"


def patched(account: CarrierAccount, said: Any, *, version: int = 1) -> HttpResponse:
    return chiefs_program().patch(address_of(account), said, if_match=f'"{version}"')


def did(account: CarrierAccount, action: str, **said: Any) -> dict[str, Any]:
    answer = chiefs_program().post(address_of(account, action), said)
    assert answer.status_code == 200, answer.content
    shown: dict[str, Any] = answer.json()
    return shown


# --- credentials -----------------------------------------------------------------------------------------------------


def test_credentials_can_be_written_and_are_never_shown() -> None:
    made = chiefs_program().post("polling-accounts/", ACME)
    assert made.status_code == 201
    assert made.json()["credentials"] == DOTS
    assert KEY not in made.content.decode() + chiefs_program().get("polling-accounts/").content.decode()
    account = CarrierAccount.objects.get()
    assert json.loads(account.credentials.reveal()) == {"key": KEY}
    assert KEY not in LogEntry.objects.get().change_message


def test_a_whole_account_sent_back_keeps_its_credentials_and_version() -> None:
    account = make_reached_account()
    shown = chiefs_program().get(address_of(account)).json()
    assert patched(account, shown).json()["version"] == 1
    assert json.loads(CarrierAccount.objects.get().credentials.reveal()) == {"key": KEY}
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize("credentials", [{}, {"credentials": DOTS}])
def test_stored_credentials_are_not_sent_to_another_host(credentials: dict[str, Any]) -> None:
    account = make_reached_account()
    problem = problem_of(patched(account, ELSEWHERE | credentials), 400)
    assert problem["errors"][0]["field"] == "credentials"
    assert CarrierAccount.objects.get().settings == account.settings
    assert patched(account, ELSEWHERE | {"credentials": {"key": "k-new"}}).status_code == 200


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"credentials": DOTS}, "credentials"),
        ({"credentials": [KEY]}, "credentials"),
        ({"credentials": {"colour": "red"}}, "credentials"),
        ({"settings": {}}, "settings"),
        ({"settings": []}, "settings"),
        ({"gateway": "pigeon"}, "gateway"),
        ({"name": ""}, "name"),
        ({"held_reason": "x", "colour": "red"}, "colour"),
    ],
)
def test_what_is_wrong_with_an_account_is_said_of_its_field(said: dict[str, Any], field: str) -> None:
    problem = problem_of(chiefs_program().post("polling-accounts/", ACME | said), 400)
    assert {error["field"] for error in problem["errors"]} == {field}
    assert KEY not in json.dumps(problem)
    assert not CarrierAccount.objects.exists()


def test_a_change_of_an_old_version_is_refused_with_the_account_as_it_is_now() -> None:
    account = make_reached_account()
    assert patched(account, {"name": "theirs"})["ETag"] == '"2"'
    assert problem_of(patched(account, {"name": "mine"}), 409)["current"]["name"] == "theirs"


def test_an_account_is_switched_by_its_actions_alone() -> None:
    account = make_account()
    assert "switch-off" in problem_of(patched(account, {"active": False}), 400)["detail"]
    assert did(account, "switch-off", reason="Contract ended")["active"] is False
    assert did(account, "switch-on")["active"] is True


# --- what a person does ----------------------------------------------------------------------------------------------


def test_an_account_is_held_with_a_reason_and_released() -> None:
    account = make_account()
    held = did(account, "hold", minutes=30, reason="They asked for it")
    assert held["held_reason"].endswith("They asked for it")
    assert [row["id"] for row in chiefs_program().get("polling-accounts/?show=held").json()["results"]] == [account.pk]
    assert did(account, "release")["held_until"] is None
    problem_of(chiefs_program().post(address_of(account, "release"), {}), 409)
    assert LogEntry.objects.count() == 2


def test_a_hold_needs_a_reason_and_a_time_that_can_be() -> None:
    for said, field in (({"minutes": 5}, "reason"), ({"minutes": 0, "reason": "x"}, "minutes")):
        problem = problem_of(chiefs_program().post(address_of(make_account(), "hold"), said), 400)
        assert problem["errors"][0]["field"] == field


def test_the_order_of_an_account_is_rebuilt() -> None:
    card = make_card()
    put_in_order(card.account)
    did(card.account, "rebuild")
    assert LogEntry.objects.get().change_message.startswith("Rebuild the order")


def test_what_was_set_of_an_account_is_forgotten() -> None:
    account = make_account()
    PollingParams.objects.create(account=account, inflight_limit=7, changed_at=account.created_at)
    did(account, "defaults", reason="Not needed")
    assert not PollingParams.objects.exists()


def test_an_account_without_cards_is_deleted_once() -> None:
    account, program = make_account(), chiefs_program()
    for _ in range(2):
        answer = program.post(address_of(account, "delete-account"), {"reason": "Left them"}, idempotency_key="k")
        assert (answer.status_code, answer.content) == (204, b"")
    assert not CarrierAccount.objects.exists()
    card = make_card()
    refused = program.post(address_of(card.account, "delete-account"), {"reason": "x"})
    assert "It has cards." in problem_of(refused, 409)["detail"]
