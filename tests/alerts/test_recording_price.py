"""Raising and resolving costs a fixed number of statements, however many alerts, channels and silences there are."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from alerts.models import Alert
from alerts.recording import raise_alert, raise_alerts, resolve_alert, resolve_alerts
from alerts.states import Severity
from tests.alerts.factories import make_channel, make_silence, problem
from tests.scheduler.factories import NOW

FAILED = "run_failed:run:1"

pytestmark = pytest.mark.django_db


def statements(function: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as captured:
        function()
    return len(captured)


def test_an_occurrence_costs_one_statement_however_many_there_are() -> None:
    make_channel()
    raise_alert(problem(), now=NOW)
    assert statements(lambda: raise_alert(problem(), now=NOW)) == 1


def test_an_opening_costs_the_same_for_one_channel_and_for_many() -> None:
    make_channel()
    alone = statements(lambda: raise_alert(problem("run_failed:run:2"), now=NOW))
    for _ in range(10):
        make_channel()
    for number in range(10):
        make_silence(labels={"account": str(number)})
    many = statements(lambda: raise_alert(problem("run_failed:run:3"), now=NOW))
    assert alone == many == 8
    assert statements(lambda: resolve_alert("run_failed:run:3", now=NOW)) <= 7


def test_thousands_cost_as_many_statements_as_two() -> None:
    make_channel()
    make_silence(labels={"card": "1"})
    raise_alert(problem("account_failing:1"), now=NOW)

    def costs(first: int, count: int) -> list[int]:
        numbers = range(first, first + count)
        problems = [
            problem(f"card_failing:{number}", parent=parent, labels={"card": str(number % 2)})
            for number in numbers
            for parent in ["account_failing:1" if number % 4 > 1 else ""]
        ]
        worse = [replace(problem, severity=Severity.CRITICAL) for problem in problems]
        fingerprints = [problem.fingerprint for problem in problems]
        return [
            statements(lambda: raise_alerts(problems, now=NOW)),
            statements(lambda: raise_alerts(problems, now=NOW)),
            statements(lambda: raise_alerts(worse, now=NOW)),
            statements(lambda: resolve_alerts(fingerprints, now=NOW, successes_needed=2)),
            statements(lambda: resolve_alerts(fingerprints, now=NOW, successes_needed=2)),
        ]

    assert costs(0, 4) == costs(10_000, 2_000)
    assert Alert.objects.filter(resolved_at__isnull=False).count() == 2_004


def test_nothing_to_resolve_costs_one_statement() -> None:
    assert statements(lambda: resolve_alert(FAILED, now=NOW)) == 1
    assert statements(lambda: resolve_alerts([FAILED, "another"], now=NOW)) == 1
