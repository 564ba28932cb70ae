"""Cards over the API: found by number or ICCID, switched, and imported with a report on each line."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry

from scheduler.polling.models import Card, Device
from scheduler.polling.states import CardState
from tests.kit.api.caller import Program, chief, chiefs_program, problem_of, program, token_of
from tests.scheduler.polling.factories import iccid, make_account, make_card

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
