"""Alerts of the polling over the API: only those, counted, and handled with a note."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.http import HttpResponse

from alerts.models import Alert
from alerts.recording import raise_alerts
from project.kit.clock import database_now
from scheduler.polling.failures import CARD_CHECK_FAILING, CARDS_FAILING
from tests.alerts.factories import problem
from tests.kit.api.caller import Program, chief, chiefs_program, problem_of, token_of

pytestmark = pytest.mark.django_db


def make_alerts() -> tuple[Alert, Alert, Alert]:
    """Raise the alerts of a card of acme, of acme itself, and of a run."""
    card = problem("card", kind=CARD_CHECK_FAILING, subject="card:7", labels={"account": "acme", "check": "usage"})
    storm = problem("storm", kind=CARDS_FAILING, labels={"account": "acme"})
    run = problem("run", kind="run_failed", labels={"account": "acme"})
    of_card, of_account, of_run = raise_alerts([card, storm, run], now=database_now())
    return of_card, of_account, of_run


def put(alert: Alert, program: Program | None = None, **said: Any) -> HttpResponse:
    return (program or chiefs_program()).send("put", f"polling-failure-alerts/{alert.pk}/status/", said)


def test_only_alerts_of_the_polling_are_told() -> None:
    card, account, run = make_alerts()
    rows = chiefs_program().get("polling-failure-alerts/").json()["results"]
    assert [row["id"] for row in rows] == [account.pk, card.pk]
    problem_of(chiefs_program().get(f"polling-failure-alerts/{run.pk}/"), 404)
    problem_of(put(run, status="acknowledged"), 404)


def test_they_are_found_by_card_check_and_account() -> None:
    card, account, _run = make_alerts()
    for query, found in {
        "card=7": [card.pk],
        "card=8": [],
        "check=usage": [card.pk],
        "account=acme": [account.pk, card.pk],
        "account=other": [],
        f"kind={CARDS_FAILING}": [account.pk],
    }.items():
        rows = chiefs_program().get(f"polling-failure-alerts/?{query}").json()["results"]
        assert [row["id"] for row in rows] == found, query


def test_the_summary_counts_what_is_not_resolved() -> None:
    card, account, _run = make_alerts()
    put(account, status="acknowledged")
    summary = chiefs_program().get("polling-failure-alerts/summary/").json()
    assert (summary["open"], summary["acknowledged"]) == (1, 1)
    assert summary["accounts"] == [{"name": "acme", "open": 1, "acknowledged": 1}]
    assert summary["checks"] == [{"name": "usage", "open": 1, "acknowledged": 0}]
    assert [each["name"] for each in summary["kinds"]] == [CARD_CHECK_FAILING, CARDS_FAILING]
    assert summary["oldest_at"] is not None
    for alert in (card, account):
        put(alert, status="resolved", note="Fixed")
    nothing = chiefs_program().get("polling-failure-alerts/summary/").json()
    assert nothing == {"open": 0, "acknowledged": 0, "oldest_at": None, "kinds": [], "accounts": [], "checks": []}


def test_who_acknowledges_sees_to_it_and_leaves_a_note() -> None:
    card, user = make_alerts()[0], chief()
    shown = put(card, Program(token_of(user)), status="acknowledged", note="Asked the carrier").json()
    assert (shown["state"], shown["handler"], shown["note"]) == ("acknowledged", user.username, "Asked the carrier")
    assert "Asked the carrier" in LogEntry.objects.get().change_message


def test_who_resolves_has_to_say_why() -> None:
    card = make_alerts()[0]
    assert problem_of(put(card, status="resolved"), 400)["errors"][0]["field"] == "note"
    assert put(card, status="resolved", note="Fixed").json()["state"] == "resolved"


def test_the_same_again_is_done_once() -> None:
    card = make_alerts()[0]
    first, second = (put(card, status="resolved", note="Fixed").json() for _ in range(2))
    assert first == second
    assert LogEntry.objects.count() == 1


def test_what_is_resolved_is_not_acknowledged_any_more() -> None:
    card = make_alerts()[0]
    put(card, status="resolved", note="Fixed")
    problem_of(put(card, status="acknowledged"), 409)


@pytest.mark.parametrize(
    ("said", "field"),
    [({}, "status"), ({"status": "open"}, "status"), ({"status": "resolved", "note": "x" * 501}, "note")],
)
def test_what_is_no_status_is_refused(said: dict[str, Any], field: str) -> None:
    assert problem_of(put(make_alerts()[0], **said), 400)["errors"][0]["field"] == field
