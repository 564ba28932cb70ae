"""The form of an account: credentials go in and never come out, what is wrong stands on its field, nobody overwrites
unawares.
"""

import json
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from project.kit.clock import database_now
from scheduler.polling import defining
from scheduler.polling.carriers.simulator import settings_for
from scheduler.polling.models import CarrierAccount
from scheduler.polling.states import ErrorClass
from tests.panel import chief, errors_of, posted_by, text_of, told
from tests.scheduler.polling.admin.desk import CARRIER, KEY, list_of, make_reached_account, page_of, viewer
from tests.scheduler.polling.factories import HOUR

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

ADD = list_of("carrieraccount", "add/")
FORM = "carrieraccount_form"
NEW_KEY = "k-new-77-hush"


def filled(client: Client, **values: str) -> dict[str, Any]:
    """Return what a browser would post from the form of a new account that is right."""
    right = {"name": "Acme", "settings": json.dumps(settings_for(CARRIER)), "credentials": json.dumps({"key": KEY})}
    return posted_by(client.get(ADD), FORM) | {"gateway": "http_json"} | right | values


def opened(client: Client, account: CarrierAccount, **values: str) -> dict[str, Any]:
    """Open the form of an account, and return what the browser would post back with these values."""
    return posted_by(client.get(page_of(account, "edit")), FORM) | values


# --- adding --------------------------------------------------------------------------------------------------------


def test_an_account_is_added_with_its_credentials_sealed_and_its_page_is_shown() -> None:
    client = chief()
    response = client.post(ADD, filled(client))
    account = CarrierAccount.objects.get()
    assert response.headers["Location"] == page_of(account)
    assert (account.name, account.gateway, account.active) == ("Acme", "http_json", True)
    assert json.loads(account.credentials.reveal()) == {"key": KEY}


@pytest.mark.parametrize(
    ("field", "values", "says"),
    [
        ("name", {"name": ""}, "This field is required."),
        ("gateway", {"gateway": "pigeon"}, "Select a valid choice."),
        ("settings", {"settings": '{"a": '}, "This is no JSON. Line 1, column 7"),
        ("settings", {"settings": "[1]"}, "Write an object"),
        ("settings", {"settings": "[" * 5000}, "It is nested too deeply."),
        ("settings", {"settings": '{"a": 1e999}'}, "NaN and Infinity are no numbers of JSON."),
        ("settings", {"settings": '{"a": "\\u0000"}'}, "cannot be kept"),
        ("settings", {"settings": '{"\\ud800": 1}'}, "Half of a character"),
        ("settings", {"settings": '{"base_url": "https://[a"}'}, "checks: It is missing."),
        ("settings", {"settings": "{}"}, "base_url: It is missing. Fill it in."),
        ("credentials", {"credentials": ""}, "key: It is empty"),
        ("credentials", {"credentials": '{"keys": "x"}'}, "keys: There is no such field here."),
        ("credentials", {"credentials": '"k"'}, "Write an object"),
    ],
)
def test_what_is_wrong_stands_on_its_field(field: str, values: dict[str, str], says: str) -> None:
    client = chief()
    errors = errors_of(client.post(ADD, filled(client, **values)))
    assert says in " ".join(errors[field])
    assert not CarrierAccount.objects.exists()


def test_a_name_that_is_taken_is_refused() -> None:
    make_reached_account(name="Acme")
    client = chief()
    assert list(errors_of(client.post(ADD, filled(client)))) == ["name"]


def test_what_the_gateway_takes_stands_below_the_form() -> None:
    text = text_of(chief().get(ADD))
    assert "JSON over HTTP http_json Credentials" in text
    assert "base_url required string" in text
    assert "key secret" in text


# --- changing ------------------------------------------------------------------------------------------------------


def test_a_form_that_is_posted_back_changes_nothing() -> None:
    account, client = make_reached_account(), chief()
    before = str(CarrierAccount.objects.values().get())
    response = client.post(page_of(account, "edit"), opened(client, account))
    assert response.headers["Location"] == page_of(account)
    assert str(CarrierAccount.objects.values().get()) == before


def test_empty_credentials_stay_as_they_were_and_typed_ones_replace_them() -> None:
    account, client = make_reached_account(), chief()
    client.post(page_of(account, "edit"), opened(client, account, name="renamed"))
    account.refresh_from_db()
    assert (account.name, json.loads(account.credentials.reveal()), account.version) == ("renamed", {"key": KEY}, 2)
    client.post(page_of(account, "edit"), opened(client, account, credentials=json.dumps({"key": NEW_KEY})))
    account.refresh_from_db()
    assert (json.loads(account.credentials.reveal()), account.version) == ({"key": NEW_KEY}, 3)


def test_an_account_that_is_reached_otherwise_is_no_longer_held() -> None:
    held = {"held_until": database_now() + HOUR, "held_class": ErrorClass.AUTH, "held_reason": "401"}
    account, client = make_reached_account(**held), chief()
    client.post(page_of(account, "edit"), opened(client, account, credentials=json.dumps({"key": NEW_KEY})))
    account.refresh_from_db()
    assert account.held_until is None


def test_stored_credentials_are_not_sent_to_another_host() -> None:
    account, client = make_reached_account(), chief()
    elsewhere = json.dumps(settings_for("https://elsewhere.example.org"))
    errors = errors_of(client.post(page_of(account, "edit"), opened(client, account, settings=elsewhere)))
    assert "Write the credentials anew" in errors["credentials"][0]
    both = opened(client, account, settings=elsewhere, credentials=json.dumps({"key": NEW_KEY}))
    client.post(page_of(account, "edit"), both)
    account.refresh_from_db()
    assert account.settings["base_url"].startswith("https://elsewhere.example.org/")


def test_an_account_whose_gateway_is_gone_can_be_renamed() -> None:
    account, client = make_reached_account(gateway="gone"), chief()
    response = client.post(page_of(account, "edit"), opened(client, account, name="renamed"))
    assert response.status_code == 302
    assert CarrierAccount.objects.get().name == "renamed"


def test_who_saves_over_a_newer_version_is_shown_both_and_no_credentials() -> None:
    account, client = make_reached_account(), chief()
    form = opened(client, account, name="mine", credentials=json.dumps({"key": NEW_KEY}))
    account.name = "theirs"
    defining.save_account(account, expected_version=1, now=database_now())
    response = client.post(page_of(account, "edit"), form)
    assert "Somebody else saved this" in text_of(response)
    assert "mine theirs you and them" in text_of(response)
    assert NEW_KEY not in text_of(response).split("What differs")[1].split("Name:")[0]
    assert CarrierAccount.objects.get().name == "theirs"


def test_who_may_only_look_has_no_form() -> None:
    account = make_reached_account()
    assert viewer().get(page_of(account, "edit")).status_code == 403
    assert viewer().get(ADD).status_code == 403
    assert viewer("change_carrieraccount").get(page_of(account, "edit")).status_code == 200


def test_stored_credentials_are_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    account, client = make_reached_account(), chief()
    pages = [
        client.get(list_of("carrieraccount")),
        client.get(page_of(account)),
        client.get(page_of(account, "edit")),
        client.post(page_of(account, "edit"), opened(client, account, name="")),
        client.post(page_of(account, "edit"), opened(client, account, settings="{}")),
        client.get(page_of(account, "history")),
        client.get(page_of(account, "action", "hold")),
        viewer().get(page_of(account)),
    ]
    for page in pages:
        assert page.status_code == 200, told(page)
        for secret in (KEY, account.credentials.sealed):
            assert secret not in page.content.decode()
    client.post(page_of(account, "edit"), opened(client, account, credentials=json.dumps({"key": NEW_KEY})))
    said = str(list(LogEntry.objects.values_list("change_message", flat=True))) + caplog.text
    assert LogEntry.objects.exists()
    assert KEY not in said
    assert NEW_KEY not in said
