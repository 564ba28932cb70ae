"""Parameters of carrier accounts over the API: what is set, what holds, what is usual; changed by version."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.http import HttpResponse

from project.kit.clock import database_now
from scheduler.polling.models import CarrierAccount, PollingParams
from scheduler.polling.params import DEFAULTS
from tests.kit.api.caller import Program, chief, chiefs_program, problem_of, token_of
from tests.scheduler.polling.admin.desk import KEY, make_reached_account
from tests.scheduler.polling.factories import make_account

pytestmark = pytest.mark.django_db

WINDOWS = [{"limit": 7, "seconds": 2}]


def address_of(account: CarrierAccount) -> str:
    return f"polling-carrier-params/{account.pk}/"


def shown(account: CarrierAccount) -> dict[str, Any]:
    row: dict[str, Any] = chiefs_program().get(address_of(account)).json()
    return row


def changed(account: CarrierAccount, said: Any, *, version: int = 0, method: str = "patch") -> HttpResponse:
    return chiefs_program().send(method, address_of(account), said, if_match=f'"{version}"')


def test_where_nobody_has_set_any_all_are_marked_as_defaults() -> None:
    account = make_account()
    [row] = chiefs_program().get("polling-carrier-params/").json()["results"]
    assert (row["id"], row["account"], row["version"]) == (account.pk, account.name, 0)
    assert row["defaults"] == sorted(DEFAULTS)
    assert (row["inflight_limit"], row["in_force"]["inflight_limit"]) == (None, DEFAULTS["inflight_limit"])
    assert row["in_force"]["priority_max_ratio"] == "0.80"


def test_what_is_set_holds_and_is_no_default_any_more() -> None:
    account, user = make_account(), chief()
    response = Program(token_of(user)).patch(
        address_of(account), {"inflight_limit": 7, "rate_windows": WINDOWS}, if_match='"0"'
    )
    assert (response.status_code, response["ETag"]) == (200, '"1"')
    row = response.json()
    assert (row["in_force"]["inflight_limit"], row["in_force"]["rate_windows"]) == (7, WINDOWS)
    assert not {"inflight_limit", "rate_windows"} & set(row["defaults"])
    assert (row["changed_by"], PollingParams.objects.get().changed_by) == (user.username, user.username)
    assert "inflight_limit, rate_windows" in LogEntry.objects.get().change_message


def test_a_row_can_be_sent_back_as_a_whole_with_one_new_value() -> None:
    account = make_account()
    changed(account, {"inflight_limit": 7})
    row = changed(account, shown(account) | {"queue": "polling.card.acme"}, version=1).json()
    assert (row["version"], row["inflight_limit"], row["queue"]) == (2, 7, "polling.card.acme")
    assert changed(account, row, version=2, method="put").json()["version"] == 2


def test_null_puts_one_back_to_the_usual() -> None:
    account = make_account()
    changed(account, {"inflight_limit": 7, "max_concurrency": 1})
    row = changed(account, {"inflight_limit": None}, version=1).json()
    assert (row["in_force"]["inflight_limit"], row["max_concurrency"]) == (DEFAULTS["inflight_limit"], 1)


def test_a_put_says_all_and_what_it_leaves_out_is_the_usual() -> None:
    account = make_account()
    changed(account, {"inflight_limit": 7, "queue": "polling.card.acme"})
    row = changed(account, {"max_concurrency": 2}, version=1, method="put").json()
    assert (row["inflight_limit"], row["queue"], row["max_concurrency"]) == (None, "", 2)
    problem_of(changed(account, [], version=2, method="put"), 400)


def test_a_delete_puts_all_back_and_may_be_sent_again() -> None:
    account = make_account()
    changed(account, {"inflight_limit": 7})
    for _ in range(2):
        response = chiefs_program().send("delete", address_of(account))
        assert (response.status_code, response.json()["version"]) == (200, 0)
    assert not PollingParams.objects.exists()
    messages = LogEntry.objects.values_list("change_message", flat=True)
    assert len([message for message in messages if "put back" in message]) == 1


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"inflight_limit": 0}, "inflight_limit"),
        ({"inflight_limit": "many"}, "inflight_limit"),
        ({"priority_max_ratio": "1.01"}, "priority_max_ratio"),
        ({"rate_windows": [{"limit": 5}]}, "rate_windows"),
        ({"queue": "default"}, "queue"),
        ({"inflight": 7}, "inflight"),
    ],
)
def test_what_no_poller_could_keep_is_refused(said: dict[str, Any], field: str) -> None:
    account = make_account()
    assert problem_of(changed(account, said), 400)["errors"][0]["field"] == field
    assert not PollingParams.objects.exists()


def test_a_change_of_an_old_version_is_refused_with_the_parameters_as_they_are_now() -> None:
    account = make_account()
    changed(account, {"inflight_limit": 7})
    problem = problem_of(changed(account, {"inflight_limit": 8}), 409)
    assert (problem["current"]["inflight_limit"], problem["current"]["version"]) == (7, 1)
    for method in ("patch", "put"):
        problem_of(chiefs_program().send(method, address_of(account), {"inflight_limit": 8}), 428)


def test_accounts_are_found_by_name_gateway_and_whether_they_are_on() -> None:
    reached, off = make_reached_account(), make_account(active=False)
    for query, account in {
        f"account={off.name}": off,
        "gateway=http_json": reached,
        "active=true": reached,
        "active=false": off,
    }.items():
        rows = chiefs_program().get(f"polling-carrier-params/?{query}").json()["results"]
        assert [row["id"] for row in rows] == [account.pk], query


def test_neither_settings_nor_credentials_of_an_account_are_shown() -> None:
    account = make_reached_account()
    PollingParams.objects.create(account=account, changed_at=database_now())
    for path in ("polling-carrier-params/", address_of(account), "polling-stats/"):
        content = chiefs_program().get(path).content
        assert KEY.encode() not in content
        assert b"carrier.example.org" not in content
