"""Telling of what opens and of what becomes more severe, and what is not told: silenced, flapping."""

from datetime import timedelta
from typing import Any

import pytest

from alerts.models import Alert, Delivery, Event
from alerts.opening import FLAPS_AFTER
from alerts.recording import acknowledge, raise_alert, resolve_alert
from alerts.repeating import repeat_open, tell_untold
from alerts.states import Severity
from tests.alerts.factories import make_channel, make_silence, problem, tellings, told_to
from tests.scheduler.factories import NOW

FAILED = "run_failed:run:1"
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
WARNING, CRITICAL = Severity.WARNING, Severity.CRITICAL

pytestmark = pytest.mark.django_db


# --- what is not told ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "covered"),
    [
        ({}, True),
        ({"kind": "run_failed"}, True),
        ({"kind": "quota_exhausted"}, False),
        ({"labels": {"name": "nightly"}}, True),
        ({"labels": {"name": "nightly", "account": "1"}}, False),
        ({"labels": {"name": "hourly"}}, False),
        ({"kind": "run_failed", "labels": {"name": "nightly"}}, True),
        ({"starts_at": NOW}, True),
        ({"starts_at": NOW + timedelta(seconds=1)}, False),
        ({"ends_at": NOW}, False),
        ({"ends_at": NOW + timedelta(seconds=1)}, True),
    ],
)
def test_a_silence_covers_kinds_and_labels_for_its_time(fields: dict[str, Any], covered: bool) -> None:
    make_silence(**fields)
    alert = raise_alert(problem(), now=NOW)
    assert alert.untold == ("Silenced: Works on the line." if covered else "")
    assert Event.objects.exists() == (not covered)


def test_what_was_silenced_is_told_when_it_comes_again_after_the_silence() -> None:
    make_silence()
    raise_alert(problem(), now=NOW)
    raise_alert(problem(), now=NOW + 2 * MINUTE)
    assert tellings() == ["opened"]


def test_the_end_of_what_was_told_before_the_silence_is_told() -> None:
    make_channel()
    raise_alert(problem(), now=NOW - 2 * MINUTE)
    make_silence()
    resolve_alert(FAILED, now=NOW)
    assert tellings() == ["opened", "recovered"]


def test_what_comes_and_goes_is_told_once_as_flapping() -> None:
    make_channel()
    for number in range(20):
        raise_alert(problem(), now=NOW + number * 18 * MINUTE)
        resolve_alert(FAILED, now=NOW + (number * 18 + 1) * MINUTE)
    calm_ones = FLAPS_AFTER - 1
    assert sorted(tellings()) == sorted(["opened", "recovered"] * calm_ones + ["flapping"])


# --- what becomes more severe ----------------------------------------------------------------------------------------


def test_the_severity_of_an_open_alert_rises_and_never_falls() -> None:
    for told, kept in [("info", "info"), ("warning", "warning"), ("info", "warning"), ("critical", "critical")]:
        assert raise_alert(problem(severity=Severity(told)), now=NOW).severity == kept
    assert raise_alert(problem(severity=WARNING), now=NOW).severity == "critical"
    resolve_alert(FAILED, now=NOW)
    assert raise_alert(problem(severity=WARNING), now=NOW).severity == "warning"


def test_when_it_rises_those_are_told_who_did_not_want_to_know_of_less_and_all_of_them_of_its_end() -> None:
    everything, critical = make_channel(), make_channel(least_severity=CRITICAL)
    raise_alert(problem(), now=NOW)
    assert told_to(critical) == []
    for minute in (1, 2):
        raise_alert(problem(severity=CRITICAL, sentence="All is lost."), now=NOW + minute * MINUTE)
    assert (told_to(everything), told_to(critical)) == (["opened"], ["opened"])
    event = Event.objects.get(deliveries__channel=critical)
    assert (event.severity, event.text, event.at) == ("critical", "All is lost.", NOW + MINUTE)
    make_channel()
    resolve_alert(FAILED, now=NOW + HOUR)
    assert (told_to(everything), told_to(critical)) == (["opened", "recovered"], ["opened", "recovered"])
    assert Delivery.objects.filter(event__telling="recovered").count() == 2


def test_when_it_rises_and_nobody_is_left_to_be_told_nothing_is_written() -> None:
    make_channel()
    raise_alert(problem(), now=NOW)
    raise_alert(problem(severity=CRITICAL), now=NOW + MINUTE)
    assert tellings() == ["opened"]
    assert Alert.objects.get().told_at == NOW


def test_one_that_was_refused_by_its_channel_is_told_there_anew_when_it_rises() -> None:
    channel = make_channel()
    raise_alert(problem(), now=NOW)
    Delivery.objects.update(state="failed", ended_at=NOW)
    raise_alert(problem(severity=CRITICAL), now=NOW)
    assert told_to(channel) == ["opened", "opened"]


def test_each_channel_is_told_again_after_its_own_telling() -> None:
    everything = make_channel(repeat_hours=1)
    critical = make_channel(repeat_hours=1, least_severity=CRITICAL)
    raise_alert(problem(), now=NOW)
    raise_alert(problem(severity=CRITICAL), now=NOW + 30 * MINUTE)
    repeat_open(now=NOW + HOUR)
    assert (told_to(everything), told_to(critical)) == (["opened", "repeated"], ["opened"])
    repeat_open(now=NOW + 90 * MINUTE)
    assert (told_to(everything), told_to(critical)) == (["opened", "repeated"], ["opened", "repeated"])


def test_that_somebody_sees_to_the_lesser_does_not_keep_the_worse_from_those_who_want_it() -> None:
    everything, critical = make_channel(), make_channel(least_severity=CRITICAL)
    acknowledge(raise_alert(problem(), now=NOW).pk, actor="ada")
    raise_alert(problem(severity=CRITICAL), now=NOW)
    assert (told_to(everything), told_to(critical)) == (["opened"], ["opened"])


def test_what_somebody_saw_to_before_anybody_was_told_is_not_told() -> None:
    make_channel()
    make_silence()
    acknowledge(raise_alert(problem(), now=NOW).pk, actor="ada")
    raise_alert(problem(severity=CRITICAL), now=NOW + HOUR)
    assert tell_untold(now=NOW + HOUR) == 0
    assert tellings() == []


def test_what_rises_while_it_is_silenced_is_told_after_the_silence_to_those_who_want_it() -> None:
    everything, critical = make_channel(), make_channel(least_severity=CRITICAL)
    raise_alert(problem(), now=NOW - HOUR)
    make_silence()
    alert = raise_alert(problem(severity=CRITICAL), now=NOW)
    assert alert.untold == "Silenced: Works on the line."
    assert told_to(critical) == []
    assert tell_untold(now=NOW + MINUTE) == 1
    assert tell_untold(now=NOW + MINUTE) == 0
    assert (told_to(everything), told_to(critical)) == (["opened"], ["opened"])
    alert.refresh_from_db()
    assert (alert.untold, alert.told_at) == ("", NOW + MINUTE)
