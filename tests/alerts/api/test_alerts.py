"""Alerts over the API: found by what they are, and handled as in the control panel."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry

from alerts.models import Alert, Silence
from alerts.states import Severity
from project.kit.zones import COOKIE
from tests.alerts.admin.desk import make_alert
from tests.kit.api.caller import Program, chief, chiefs_program, problem_of, token_of

pytestmark = pytest.mark.django_db


def found(query: str) -> set[int]:
    """Return the numbers of the alerts that a query finds."""
    response = chiefs_program().get(f"alerts/?{query}")
    assert response.status_code == 200, response.content
    return {row["id"] for row in response.json()["results"]}


def test_alerts_are_found_by_what_they_are() -> None:
    critical = make_alert(severity=Severity.CRITICAL, kind="run_asks", subject="run:7", labels={"name": "hourly"})
    usual = make_alert()
    assert found("") == {critical.pk, usual.pk}
    assert found("severity=critical") == found("kind=run_asks") == found("subject=run:7") == {critical.pk}
    assert found("label=name:nightly") == {usual.pk}
    assert found("label=name:nightly&severity=critical") == set()


def test_alerts_are_found_by_where_they_stand() -> None:
    program, taken, other = chiefs_program(), make_alert(), make_alert()
    program.post(f"alerts/{taken.pk}/acknowledge/")
    assert found("state=acknowledged") == {taken.pk}
    assert found("state=open") == {other.pk}


def test_an_alert_tells_instants_in_utc_whatever_the_clocks_of_the_browser() -> None:
    program, alert = chiefs_program(), make_alert()
    program.client.cookies[COOKIE] = "Asia/Tokyo"
    shown = program.get(f"alerts/{alert.pk}/").json()
    assert shown["first_at"] == alert.first_at.isoformat().replace("+00:00", "Z")


def test_who_acknowledges_sees_to_it_and_leaves_a_note() -> None:
    user, alert = chief(), make_alert()
    shown = Program(token_of(user)).post(f"alerts/{alert.pk}/acknowledge/", {"reason": "Disk is full"}).json()
    assert (shown["state"], shown["handler"], shown["note"]) == ("acknowledged", user.username, "Disk is full")


def test_what_is_done_over_the_api_stands_in_the_audit_log() -> None:
    alert = make_alert()
    chiefs_program().post(f"alerts/{alert.pk}/resolve/", {"reason": "Fixed"})
    assert "Fixed" in LogEntry.objects.get(object_id=str(alert.pk)).change_message
    assert Alert.objects.get(pk=alert.pk).state == "resolved"


def test_who_resolves_has_to_say_why() -> None:
    problem = problem_of(chiefs_program().post(f"alerts/{make_alert().pk}/resolve/"), 400)
    assert [error["field"] for error in problem["errors"]] == ["reason"]


@pytest.mark.parametrize(
    ("said", "field"),
    [({"covers": "all"}, "covers"), ({"ends_at": "2000-01-01T00:00:00Z"}, "ends_at"), ({"ends_at": "soon"}, "ends_at")],
)
def test_a_silence_over_an_alert_obeys_the_form_of_the_panel(said: dict[str, Any], field: str) -> None:
    wanted = {"covers": "kind", "ends_at": "2999-01-01T00:00:00Z", "reason": "Migration"}
    address = f"alerts/{make_alert().pk}/silence/"
    assert problem_of(chiefs_program().post(address, wanted | said), 400)["errors"][0]["field"] == field
    assert chiefs_program().post(address, wanted).status_code == 200
    assert Silence.objects.get().kind == "run_failed"
