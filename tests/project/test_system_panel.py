"""The first line of the home page says which parts of the system are alive, and a newcomer is told what to do first."""

from typing import Any

import pytest
from django.urls import reverse
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from alerts.recording import Problem, raise_alert
from project import first_steps, system_panel, watching
from project.health import scan_states
from project.kit.clock import database_now
from project.models import ScanMark
from project.scans import mark
from scheduler.polling.models import CarrierAccount, Cutover
from scheduler.polling.states import CutoverPhase
from tests.panel import chief, text_of
from tests.scheduler.admin.desk import person
from tests.scheduler.factories import HOUR, make_schedule

pytestmark = pytest.mark.django_db

HOME = reverse("admin:index")


def system() -> dict[str, Any]:
    now = database_now()
    return {line["name"]: line for line in system_panel.lines(scan_states(now), now)}


def test_all_is_alive_after_beats_message_has_reached_a_worker() -> None:
    mark(watching.PROOF, by="worker@here")
    assert {name: "alive" in line["badge"] for name, line in system().items()} == dict.fromkeys(
        ("Database", "Broker", "Beat", "Workers"), True
    )


def test_beat_is_away_where_workers_scan_and_its_message_reaches_none() -> None:
    mark("fire due schedules", by="worker@here", from_beat=False)
    mark(watching.PROOF, by="worker@here")
    ScanMark.objects.filter(name=watching.PROOF).update(last_at=database_now() - HOUR)
    seen = system()
    assert "away" in seen["Beat"]["badge"]
    assert "1 h ago" in seen["Beat"]["at"]
    assert "alive" in seen["Workers"]["badge"]


def test_workers_are_away_where_nobody_has_scanned_lately() -> None:
    assert "away" in system()["Workers"]["badge"]
    mark("fire due schedules", by="worker@here")
    ScanMark.objects.update(last_at=database_now() - HOUR)
    assert "away" in system()["Workers"]["badge"]


def test_a_silence_that_workers_told_of_counts_from_then() -> None:
    now = database_now()
    mark(watching.PROOF, by="worker@here")
    raise_alert(Problem(watching.BEAT_SILENT, watching.BEAT_SILENT, "Beat is silent", "It is."), now=now - HOUR)
    assert "away" in system()["Beat"]["badge"]


def test_a_broker_that_does_not_answer_is_away(monkeypatch: pytest.MonkeyPatch) -> None:

    nobody = Redis(host="127.0.0.1", port=1, retry=Retry(NoBackoff(), 0))
    monkeypatch.setattr("scheduler.polling.connecting.hasty_client", lambda: nobody)
    assert "away" in system()["Broker"]["badge"]
    assert chief().get(HOME).status_code == 200


def test_a_newcomer_is_told_what_to_do_first_until_there_is_a_schedule() -> None:
    client = chief()
    shown = text_of(client.get(HOME))
    assert "Begin here" in shown
    assert all(str(step.label) in shown for step in first_steps.STEPS)
    make_schedule(now=database_now())
    assert "Begin here" not in text_of(client.get(HOME))


def test_nobody_is_told_to_do_what_is_not_permitted() -> None:
    assert "Begin here" not in text_of(person().get(HOME))


def test_a_cut_over_under_way_stands_above_the_accounts() -> None:
    now = database_now()
    CarrierAccount.objects.create(name="one", gateway="simulator", created_at=now, updated_at=now)
    client = chief()
    assert "Cut-over to" not in text_of(client.get(HOME))
    Cutover.objects.create(
        wanted="legacy", phase=CutoverPhase.DRAINING, actor="ann", started_at=now, phase_since=now, note="3 in work"
    )
    shown = text_of(client.get(HOME))
    assert "Cut-over to legacy" in shown
    assert "3 in work" in shown
