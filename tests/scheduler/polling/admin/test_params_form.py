"""The form of an account's polling parameters: also where nobody has set any yet, and with the version of the row."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from project.kit.clock import database_now
from scheduler.polling import defining
from scheduler.polling.models import CarrierAccount, PollingParams
from tests.panel import chief, errors_of, name_of, posted_by, text_of
from tests.scheduler.polling.admin.desk import list_of, make_reached_account, page_of, viewer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


def address(account: CarrierAccount) -> str:
    """Return where the parameters of an account are edited."""
    return page_of(PollingParams(account=account))


def opened(client: Client, account: CarrierAccount, **values: str) -> dict[str, Any]:
    """Open the form, and return what the browser would post back with these values."""
    return posted_by(client.get(address(account)), "pollingparams_form") | values


def test_first_parameters_are_set_and_the_accounts_page_marks_what_is_default() -> None:
    account, client = make_reached_account(), chief()
    response = client.post(address(account), opened(client, account, inflight_limit="7"))
    assert response.headers["Location"] == page_of(account)
    params = PollingParams.objects.get()
    assert (params.inflight_limit, params.rate_windows, params.version) == (7, None, 1)
    assert params.changed_by == name_of(client)
    text = text_of(client.get(page_of(account)))
    assert "Cards in work claimed at once, waiting for a poller or being asked 7 set" in text
    assert "Rate windows 5 each 1 s default" in text
    assert f"Set by {name_of(client)}" in text


def test_a_form_that_is_posted_back_sets_nothing() -> None:
    account, client = make_reached_account(), chief()
    assert client.post(address(account), opened(client, account)).status_code == 302
    assert not PollingParams.objects.exists()


@pytest.mark.parametrize(
    ("field", "typed", "says"),
    [
        ("rate_windows", '[{"limit": 5}]', "Each window names its limit and its seconds"),
        ("rate_windows", "[", "This is no JSON. Line 1, column 2"),
        ("rate_windows", '["\\ud800"]', "Half of a character"),
        ("queue", "celery", "is no queue of its own"),
        ("inflight_limit", "0", "greater than or equal to 1"),
        ("priority_max_ratio", "1.5", "less than or equal to 1"),
    ],
)
def test_what_is_wrong_stands_on_its_field(field: str, typed: str, says: str) -> None:
    account, client = make_reached_account(), chief()
    errors = errors_of(client.post(address(account), opened(client, account, **{field: typed})))
    assert list(errors) == [field]
    assert says in errors[field][0]


def test_two_first_changes_do_not_overwrite_each_other() -> None:
    account, client = make_reached_account(), chief()
    form = opened(client, account, inflight_limit="7")
    theirs = PollingParams(account=account, inflight_limit=9)
    defining.save_params(theirs, expected_version=0, now=database_now(), actor="ann")
    response = client.post(address(account), form)
    assert "Somebody else saved this" in text_of(response)
    assert "7 9 you and them" in text_of(response)
    again = posted_by(response, "pollingparams_form")
    client.post(address(account), again)
    params = PollingParams.objects.get()
    assert (params.inflight_limit, params.version) == (7, 2)


def test_only_who_may_change_parameters_is_offered_their_form() -> None:
    account = make_reached_account()
    assert address(account) not in viewer().get(page_of(account)).content.decode()
    assert "Save" not in text_of(viewer().get(address(account)))
    client = viewer("change_pollingparams")
    assert address(account) in client.get(page_of(account)).content.decode()
    assert client.post(address(account), opened(client, account, inflight_limit="7")).status_code == 302
    assert viewer().post(address(account), {"inflight_limit": "8"}).status_code == 403
    assert PollingParams.objects.get().inflight_limit == 7


def test_the_list_of_parameters_is_that_of_the_accounts() -> None:
    assert chief().get(list_of("pollingparams")).headers["Location"] == list_of("carrieraccount")


def test_parameters_of_no_account_are_not_there() -> None:
    client = chief()
    assert client.get(list_of("pollingparams") + "0/change/").status_code == 302
    assert client.get(list_of("pollingparams") + "x/change/").status_code == 302


def test_the_form_asks_a_fixed_number_of_questions() -> None:
    account, client = make_reached_account(), chief()
    client.get(address(account))
    with CaptureQueriesContext(connection) as captured:
        client.get(address(account))
    assert len(captured) <= 8
