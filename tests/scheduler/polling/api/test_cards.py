"""Cards over the API: found by number or ICCID, switched, and imported with a report on each line."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection

from project.kit.clock import database_now
from scheduler.polling.admin import cards
from scheduler.polling.fleet import lifecycle
from scheduler.polling.models import Card, Device
from scheduler.polling.queue import Queue, calls
from scheduler.polling.states import CardState, CheckType
from tests.kit.api.caller import Program, chief, chiefs_program, problem_of, program, token_of
from tests.races.helpers import run_before
from tests.scheduler.polling.admin.desk import make_failing, put_in_order
from tests.scheduler.polling.api.factories import make_look, make_request
from tests.scheduler.polling.factories import iccid, make_account, make_card, make_checks

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


def imported(csv: str, *, status: int = 200, **said: Any) -> dict[str, Any]:
    """Send a file, and return what is answered."""
    response = chiefs_program().post("iot-cards/import/", {"csv": csv} | said)
    assert response.status_code == status, response.content
    report: dict[str, Any] = response.json()
    return report


def test_a_card_is_found_by_its_number_and_by_its_iccid() -> None:
    card, _other = make_card(device=Device.objects.create(code="d-1")), make_card()
    by_number, by_iccid = (chiefs_program().get(f"iot-cards/{name}/").json() for name in (card.pk, card.iccid))
    assert by_number == by_iccid
    assert (by_number["id"], by_number["iccid"], by_number["device"]) == (card.pk, card.iccid, "d-1")


@pytest.mark.parametrize("name", ["0", "999999", iccid(10**12), "9" * 20, "9" * 400])
def test_a_card_that_is_not_there_is_not_found(name: str) -> None:
    problem_of(chiefs_program().get(f"iot-cards/{name}/"), 404)


def test_cards_are_found_by_what_they_are() -> None:
    device = Device.objects.create(code="d-1")
    card = make_card(msisdn="8613800000000", imsi="460001234567890", device=device, state=CardState.ACTIVE)
    off = make_card(polling_enabled=False, real_name_state="verified")
    for query, found in {
        f"iccid={card.iccid}": card,
        "msisdn=8613800000000": card,
        "imsi=460001234567890": card,
        f"account={card.account_id}": card,
        "device=d-1": card,
        "state=active": card,
        "polling_enabled=false": off,
        "real_name_state=verified": off,
    }.items():
        rows = chiefs_program().get(f"iot-cards/?{query}").json()["results"]
        assert [row["id"] for row in rows] == [found.pk], query


def test_polling_of_a_card_is_switched_off_and_on_as_in_the_panel() -> None:
    card, caller = make_card(), chiefs_program()
    problem_of(caller.post(f"iot-cards/{card.pk}/polling-off/"), 400)
    shown = caller.post(f"iot-cards/{card.iccid}/polling-off/", {"reason": "Scrapped"}).json()
    assert (shown["id"], shown["polling_enabled"]) == (card.pk, False)
    assert (
        "not polled already"
        in problem_of(caller.post(f"iot-cards/{card.pk}/polling-off/", {"reason": "x"}), 409)["detail"]
    )
    assert caller.post(f"iot-cards/{card.pk}/polling-on/").json()["polling_enabled"] is True
    assert "Scrapped" in LogEntry.objects.order_by("id")[0].change_message


# --- import ----------------------------------------------------------------------------------------------------


def test_a_dry_run_tells_what_becomes_of_each_line_and_writes_nothing() -> None:
    account = make_account(name="acme")
    there = make_card(account)
    report = imported(f"iccid,account\n{iccid(10**9)},acme\n{there.iccid},acme\n123,nobody\n", dry_run=True)
    assert report["written"] is False
    assert report["counts"] == {"new": 1, "changed": 0, "same": 0, "bad": 2}
    assert [(line["line"], line["fate"], len(line["faults"])) for line in report["lines"]] == [
        (2, "new", 0),
        (3, "bad", 1),
        (4, "bad", 2),
    ]
    assert Card.objects.count() == 1


def test_cards_are_written_all_together_or_not_at_all_unless_bad_lines_are_left_out() -> None:
    make_account(name="acme")
    csv = f"iccid,account\n{iccid(10**9)},acme\n123,acme\n"
    assert imported(csv)["written"] is False
    assert not Card.objects.exists()
    assert imported(csv, skip_bad=True)["written"] is True
    card = Card.objects.get()
    assert card.iccid == iccid(10**9)
    assert LogEntry.objects.get(object_id=str(card.pk)).change_message == "Imported through the API. Token: script."


def test_cards_that_are_there_are_changed_only_when_that_is_said() -> None:
    card = make_card(make_account(name="acme"))
    csv = f"iccid,account,reset_day\n{card.iccid},acme,15\n"
    assert imported(csv)["counts"]["bad"] == 1
    assert imported(csv, update=True)["counts"]["changed"] == 1
    assert Card.objects.get().reset_day == 15


@pytest.mark.parametrize("csv", ["", "iccid\n", "iccid,account,colour\n", 'iccid,account\n"x"y,acme', "\n" * 10_001])
def test_a_file_that_cannot_be_read_is_refused_in_a_sentence(csv: str) -> None:
    problem = problem_of(chiefs_program().post("iot-cards/import/", {"csv": csv}), 400)
    assert problem["errors"][0]["field"] == "csv"


def test_a_file_that_is_sent_again_with_its_key_is_imported_once() -> None:
    make_account(name="acme")
    body, caller = {"csv": f"iccid,account\n{iccid(10**9)},acme\n"}, chiefs_program()
    first, second = (caller.post("iot-cards/import/", body, idempotency_key="k") for _ in range(2))
    assert first.json() == second.json()
    assert (first.json()["written"], second["Idempotency-Replayed"]) == (True, "true")


def test_who_may_only_add_cards_changes_none() -> None:
    card = make_card(make_account(name="acme"))
    body = {"csv": f"iccid,account,reset_day\n{card.iccid},acme,15\n"}
    adding = program("polling.view_card", "polling.add_card")
    assert adding.post("iot-cards/import/", body).status_code == 200
    assert "polling.change_card" in problem_of(adding.post("iot-cards/import/", body | {"update": True}), 403)["detail"]
    narrow = Program(token_of(chief(), "read", "polling.add_card"))
    problem_of(narrow.post("iot-cards/import/", body | {"update": True}), 403)
    assert Card.objects.get().reset_day == 1


# --- added and changed -----------------------------------------------------------------------------------------------


def test_a_card_is_added_and_polled_soon() -> None:
    account, number = make_account(), iccid(10**12)
    said = {"iccid": f"{number[:4]} {number[4:]}", "account": account.pk, "msisdn": "+86 138-0000-0000", "reset_day": 7}
    made = chiefs_program().post("iot-cards/", said)
    assert made.status_code == 201
    card = Card.objects.get()
    assert (card.iccid, card.account, card.msisdn, card.reset_day) == (number, account, "8613800000000", 7)
    assert (made.json()["polling_enabled"], made.json()["account_name"]) == (True, account.name)


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"iccid": "8986"}, "iccid"),
        ({"account": 10**6}, "account"),
        ({"account": 1.5}, "account"),
        ({"account": "Acme"}, "account"),
        ({"device": "nowhere"}, "device"),
        ({"msisdn": "call me"}, "msisdn"),
        ({"imsi": "1" * 16}, "imsi"),
        ({"reset_day": 32}, "reset_day"),
        ({"state": "active", "colour": "red"}, "colour"),
    ],
)
def test_what_is_wrong_with_a_card_is_said_of_its_field(said: dict[str, Any], field: str) -> None:
    right = {"iccid": iccid(10**12), "account": make_account().pk}
    problem = problem_of(chiefs_program().post("iot-cards/", right | said), 400)
    assert [error["field"] for error in problem["errors"]] == [field]
    assert not Card.objects.exists()


def test_a_card_that_is_there_is_not_added_again() -> None:
    card = make_card()
    for number in (card.iccid, f"{card.iccid[:4]} {card.iccid[4:]}"):
        problem = problem_of(chiefs_program().post("iot-cards/", {"iccid": number, "account": card.account_id}), 400)
        assert problem["errors"][0]["field"] == "iccid"


def test_a_card_that_somebody_else_adds_meanwhile_is_a_conflict() -> None:
    account, number = make_account(), iccid(10**12)

    def overtake() -> None:
        lifecycle.add_cards([Card(iccid=number, account=account)], now=database_now())

    with run_before("scheduler.polling.api.cards.Cards.add", overtake, elsewhere=False):
        refused = chiefs_program().post("iot-cards/", {"iccid": number, "account": account.pk})
    assert "Somebody else added this card" in problem_of(refused, 409)["detail"]


def test_a_card_is_changed_by_version_and_keeps_what_its_carrier_says_meanwhile() -> None:
    card = make_card(device=Device.objects.create(code="d-1"))

    def answer() -> None:
        Card.objects.update(state=CardState.STOPPED)

    with run_before("scheduler.polling.fleet.lifecycle.save_changes", answer, elsewhere=False):
        said = {"device": None, "reset_day": 31, "state": "unknown"}
        changed = chiefs_program().patch(f"iot-cards/{card.iccid}/", said, if_match='"1"')
    assert (changed.json()["device"], changed.json()["reset_day"], changed["ETag"]) == (None, 31, '"2"')
    assert Card.objects.get().state == CardState.STOPPED
    assert LogEntry.objects.get().change_message == "Changed through the API: device, reset_day. Token: script."
    problem = problem_of(chiefs_program().patch(f"iot-cards/{card.pk}/", {"reset_day": 1}, if_match='"1"'), 409)
    assert problem["current"]["reset_day"] == 31


@pytest.mark.parametrize("said", [{"iccid": iccid(10**12)}, {"account": "other"}, {"polling_enabled": False}])
def test_what_has_an_action_of_its_own_is_not_changed_otherwise(said: dict[str, Any]) -> None:
    card, other = make_card(), make_account()
    said = {name: other.pk if value == "other" else value for name, value in said.items()}
    problem = problem_of(chiefs_program().patch(f"iot-cards/{card.pk}/", said, if_match='"1"'), 400)
    assert [error["field"] for error in problem["errors"]] == list(said)


def test_a_card_is_given_to_another_account_and_deleted() -> None:
    card, other = make_card(), make_account()
    answer = chiefs_program().post(f"iot-cards/{card.pk}/move/", {"account": other.pk, "reason": "Contract"})
    assert answer.json()["account"] == other.pk
    [change] = chiefs_program().get(f"card-changes/?card={card.pk}&field=account").json()["results"]
    assert change["after"] == other.name
    assert chiefs_program().post(f"iot-cards/{card.pk}/delete-card/", {"reason": "Scrapped"}).status_code == 204
    assert not Card.objects.exists()


@pytest.mark.parametrize("key", [{}, {"idempotency_key": "once"}])
@pytest.mark.django_db(transaction=True)
def test_a_check_is_asked_for_at_once_with_no_transaction_open(
    queue: Queue, monkeypatch: pytest.MonkeyPatch, key: dict[str, str]
) -> None:
    card = make_card()
    put_in_order(card.account)
    open_ones: list[bool] = []
    structure = cards.structure

    def request(*args: Any, **kwargs: Any) -> Any:
        open_ones.append(connection.in_atomic_block)
        return structure.request(*args, **kwargs)

    monkeypatch.setattr(cards, "structure", SimpleNamespace(request=request))
    answer = chiefs_program().post(f"iot-cards/{card.pk}/check-now/", {"checks": ["usage"]}, **key)
    assert (answer.status_code, open_ones) == (200, [False])
    sight = queue.ask(calls.look(card.account_id, card.pk))
    assert sight is not None
    assert sight.priority is not None


# --- what is known of cards ------------------------------------------------------------------------------------------


def test_checks_are_found_by_how_they_fail() -> None:
    card = make_card()
    failing = make_failing(card)
    make_checks([make_card()], CheckType.PACKAGE, value="10 MB")
    for query in ("failing=true", "error_class=timeout", f"card={card.pk}", f"account={card.account_id}", "type=usage"):
        [found] = chiefs_program().get(f"card-checks/?{query}").json()["results"]
        assert (found["id"], found["iccid"], found["failures"]) == (failing.pk, card.iccid, 3), query
    [other] = chiefs_program().get("card-checks/?failing=false").json()["results"]
    assert other["value"] == "10 MB"


def test_looks_are_found_by_what_they_follow() -> None:
    request = make_request(make_card())
    look = make_look(request)
    for query in (f"request={request.pk}", f"card={look.card_id}", "state=waiting", "type=usage"):
        [found] = chiefs_program().get(f"polling-confirmations/?{query}").json()["results"]
        assert (found["id"], found["request"], found["operation"]) == (look.pk, request.pk, None), query
    assert chiefs_program().get("polling-confirmations/?state=confirmed").json()["results"] == []
