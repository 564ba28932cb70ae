"""Quotas over the API: shown, made, changed by version; topped up once however often it is sent."""

import json
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.http import HttpResponse

from project.kit.clock import database_now
from project.kit.secrets import DOTS
from quotas import charging, defining
from quotas.models import LedgerEntry, Quota
from tests.kit.api.caller import Program, chief, chiefs_program, problem_of, program, token_of
from tests.quotas.admin.desk import charge, make_daily, make_quota, make_rate
from tests.races.helpers import run_before

pytestmark = pytest.mark.django_db

KEY = "k-8f2e71-hush"
PROBED = {
    "probe_url": "https://usage.example.org/v1",
    "probe_headers": {"Authorization": KEY},
    "probe_remaining": "left",
}
DAILY = {"key": "mail.daily", "kind": "periodic", "reset_preset": "day", "limit": 500}


def address_of(quota: Quota, action: str = "") -> str:
    return f"quotas/{quota.pk}/{action}/" if action else f"quotas/{quota.pk}/"


def shown(quota: Quota) -> dict[str, Any]:
    row: dict[str, Any] = chiefs_program().get(address_of(quota)).json()
    return row


def patched(quota: Quota, said: Any, *, version: int = 1) -> HttpResponse:
    return chiefs_program().patch(address_of(quota), said, if_match=f'"{version}"')


# --- shown -----------------------------------------------------------------------------------------------------------


def test_a_quota_tells_what_it_has_and_when_it_resets() -> None:
    team = make_quota(None)
    daily = make_daily(100, used=30, parent=team, unit="mails")
    row = shown(daily)
    assert (row["limit"], row["used"], row["available"], row["unit"]) == (100, 30, 70, "mails")
    assert row["parent"] == team.key
    assert row["verdict"] == "sufficient"
    assert row["next_reset"].endswith("Z")
    assert (shown(team)["available"], shown(team)["next_reset"]) == (None, None)


def test_quotas_are_found_by_what_people_ask_about_them() -> None:
    make_quota(100), make_rate()
    used, blocked = make_quota(100, used=90), make_quota(0)
    part = make_quota(50, parent=used)
    for query, those in {
        "show=nearly-used": [used.key],
        "show=blocked": [blocked.key],
        f"key={used.key}": [used.key],
        f"parent={used.pk}": [part.key],
        "kind=rate&show=blocked": [],
    }.items():
        assert [row["key"] for row in chiefs_program().get(f"quotas/?{query}").json()["results"]] == those, query
    problem_of(chiefs_program().get("quotas/?show=nonsense"), 400)


# --- made and changed ------------------------------------------------------------------------------------------------


def test_a_quota_is_made_with_the_ledger_entry_of_its_limit() -> None:
    user = chief()
    made = Program(token_of(user)).post("quotas/", DAILY)
    assert made.status_code == 201
    assert (made["ETag"], made.json()["available"]) == ('"1"', 500)
    entry = LedgerEntry.objects.get()
    assert (entry.kind, entry.units, entry.actor) == ("limit", 500, user.username)
    assert LogEntry.objects.get().change_message == "Added through the API. Token: script."


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"reset_preset": "", "limit": 5}, "reset_preset"),
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"limit": -1}, "limit"),
        ({"limit": 1.5}, "limit"),
        ({"parent": "nobody"}, "parent"),
        ({"parent": 5}, "parent"),
        ({"kind": "rate"}, "refill_amount"),
        ({"resume_threshold": "2"}, "resume_threshold"),
        ({"probe_headers": ["x"]}, "probe_headers"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_is_wrong_with_a_quota_is_said_of_its_field(said: dict[str, Any], field: str) -> None:
    problem = problem_of(chiefs_program().post("quotas/", DAILY | said), 400)
    assert [error["field"] for error in problem["errors"]] == [field]
    assert not Quota.objects.exists()


def test_a_rule_is_changed_by_version_and_named_in_the_audit_log() -> None:
    quota = make_daily()
    changed = patched(quota, {"resume_threshold": "0.2", "title": "Mails"})
    assert (changed["ETag"], changed.json()["resume_threshold"]) == ('"2"', "0.200")
    assert LogEntry.objects.get().change_message == "Changed through the API: title, resume_threshold. Token: script."
    assert problem_of(patched(quota, {"title": "mine"}), 409)["current"]["title"] == "Mails"


def test_a_whole_quota_sent_back_changes_nothing() -> None:
    quota = make_daily(parent=make_quota(), **PROBED)
    assert patched(quota, shown(quota)).json()["version"] == 1
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize("said", [{"limit": 5}, {"limit": None}, {"key": "other"}, {"kind": "rate"}])
def test_a_change_leaves_alone_what_has_its_own_action_or_stays(said: dict[str, Any]) -> None:
    quota = make_quota(100)
    problem = problem_of(patched(quota, said), 400)
    assert [error["field"] for error in problem["errors"]] == list(said)


def test_a_limit_that_is_set_while_a_rule_is_changed_stays() -> None:
    quota = make_quota(100)

    def overtake() -> None:
        charging.set_limit(quota.key, 700, now=database_now(), idempotency_key="k", actor="bob", reason="More")

    with run_before("quotas.defining.save_changes", overtake, elsewhere=False):
        assert patched(quota, {"title": "Mails"}).status_code == 200
    assert Quota.objects.values_list("limit", "title").get() == (700, "Mails")


# --- secrets ---------------------------------------------------------------------------------------------------------


def test_headers_can_be_written_and_are_never_shown() -> None:
    made = chiefs_program().post("quotas/", DAILY | PROBED)
    assert made.json()["probe_headers"] == {"Authorization": DOTS}
    assert KEY not in made.content.decode() + chiefs_program().get("quotas/").content.decode()
    assert Quota.objects.get().revealed_headers() == {"Authorization": KEY}


def test_dots_keep_a_header_and_others_are_replaced() -> None:
    quota = make_quota(**PROBED)
    patched(quota, {"probe_headers": {"Authorization": DOTS, "X-Team": "core"}})
    assert Quota.objects.get().revealed_headers() == {"Authorization": KEY, "X-Team": "core"}
    problem = problem_of(patched(quota, {"probe_headers": {"Other": DOTS}}, version=2), 400)
    assert "no stored value" in problem["detail"]


@pytest.mark.parametrize("headers", [{}, {"probe_headers": {"Authorization": DOTS}}])
def test_stored_headers_are_not_sent_to_another_host(headers: dict[str, Any]) -> None:
    quota = make_quota(**PROBED)
    problem = problem_of(patched(quota, {"probe_url": "https://elsewhere.example.org/", **headers}), 400)
    assert problem["errors"][0]["field"] == "probe_headers"
    assert Quota.objects.get().probe_url == PROBED["probe_url"]


def test_headers_that_no_key_reads_are_shown_as_none(settings: Any) -> None:
    quota = make_quota(**PROBED)
    settings.TIDELINE_SECRETS_KEYS = ["x" * 40]
    assert shown(quota)["probe_headers"] == {}
    assert chiefs_program().get("quotas/").status_code == 200


# --- what a person does ----------------------------------------------------------------------------------------------


def test_a_top_up_with_a_key_is_done_once() -> None:
    quota, program_ = make_quota(100), chiefs_program()
    for _ in range(2):
        body = {"amount": 50, "reason": "Bought"}
        answer = program_.post(address_of(quota, "top-up"), body, idempotency_key="order-1")
        assert answer.json()["limit"] == 150
    assert LedgerEntry.objects.filter(kind="top_up").count() == 1
    assert "Top up: Bought" in LogEntry.objects.get().change_message


def test_top_ups_without_a_key_are_as_many_as_are_sent() -> None:
    quota = make_quota(100)
    for limit in (150, 200):
        answer = chiefs_program().post(address_of(quota, "top-up"), {"amount": 50, "reason": "Bought"})
        assert answer.json()["limit"] == limit


def test_a_day_is_reset_before_its_time() -> None:
    quota = make_daily(100, used=30)
    row = chiefs_program().post(address_of(quota, "reset-now"), {"reason": "Ticket 7"}).json()
    assert (row["used"], row["available"], row["next_reset"]) == (0, 100, shown(quota)["next_reset"])
    again = chiefs_program().post(address_of(quota, "reset-now"), {"reason": "Ticket 7"})
    assert "Nothing of it is used." in problem_of(again, 409)["detail"]


def test_a_limit_is_set_or_taken_away() -> None:
    quota = make_quota(100)
    said: dict[str, Any] = {"limit": 7, "reason": "Cheaper plan"}
    assert chiefs_program().post(address_of(quota, "set-limit"), said).json()["limit"] == 7
    said = {"unlimited": True, "reason": "Flat rate"}
    assert chiefs_program().post(address_of(quota, "set-limit"), said).json()["limit"] is None


@pytest.mark.parametrize(
    ("action", "said", "field"),
    [
        ("top-up", {"amount": 5}, "reason"),
        ("top-up", {"amount": 0, "reason": "x"}, "amount"),
        ("top-up", {"amount": "5", "reason": "x"}, "amount"),
        ("top-up", {"amount": 5, "reason": "x", "once": "2b9d3b7c-5d2c-4b62-8f5e-0c9a4c0c5f1e"}, "once"),
        ("set-limit", {"reason": "x"}, "limit"),
        ("set-limit", {"limit": 5, "unlimited": True, "reason": "x"}, "limit"),
    ],
)
def test_what_an_action_lacks_is_said_of_its_field(action: str, said: dict[str, Any], field: str) -> None:
    quota = make_quota(100)
    problem = problem_of(chiefs_program().post(address_of(quota, action), said), 400)
    assert [error["field"] for error in problem["errors"]] == [field]
    assert Quota.objects.get().limit == 100


def test_what_is_not_possible_is_a_conflict_in_words() -> None:
    problem = problem_of(chiefs_program().post(address_of(make_daily(), "top-up"), {"amount": 5, "reason": "x"}), 409)
    assert "Only a capacity is topped up." in problem["detail"]


def test_a_look_at_once_makes_the_fallback_poll_due() -> None:
    quota = make_daily()
    Quota.objects.update(next_check_at=None)
    assert chiefs_program().post(address_of(quota, "check-now"), {}).json()["next_check_at"]


def test_who_may_only_edit_tops_nothing_up() -> None:
    editor = program("quotas.view_quota", "quotas.change_quota")
    problem = problem_of(editor.post(address_of(make_quota(), "top-up"), {"amount": 5, "reason": "x"}), 403)
    assert "quotas.top_up_quota" in problem["detail"]


def test_no_answer_shows_what_only_the_server_needs() -> None:
    row = shown(make_quota())
    assert not {"ancestors", "trial_owner", "quiet_below", "spent_total"} & row.keys()
    assert json.dumps(row)


def test_a_change_that_somebody_else_overtakes_is_refused() -> None:
    quota = make_quota()

    def overtake() -> None:
        theirs = Quota.objects.get()
        theirs.title = "theirs"
        defining.save_changes(theirs, expected_version=1, now=database_now())

    with run_before("project.kit.api.resources.Patching._store", overtake, elsewhere=False):
        assert problem_of(patched(quota, {"title": "mine"}), 409)["current"]["title"] == "theirs"


def test_a_charge_between_read_and_change_is_no_conflict() -> None:
    quota = make_quota()
    charge(quota, 5)
    assert patched(quota, {"title": "Mails"}).json()["used"] == 5
