"""Who is told what: by kind, severity and labels; and of the recovery exactly those who were told of the opening."""

from typing import Any

import pytest

from alerts.attention import Attention, tell
from alerts.models import Channel, Delivery, Event
from alerts.recording import raise_alert, resolve_alert
from alerts.routing import subject_of
from alerts.states import Severity
from tests.alerts.factories import make_channel, problem
from tests.scheduler.factories import NOW

pytestmark = pytest.mark.django_db


def told(telling: str) -> list[int]:
    """Return the channels that are told so."""
    return list(Delivery.objects.filter(event__telling=telling).order_by("channel").values_list("channel", flat=True))


@pytest.mark.parametrize(
    ("fields", "wants"),
    [
        ({}, True),
        ({"kinds": ["run_failed", "run_suspended"]}, True),
        ({"kinds": ["run_suspended"]}, False),
        ({"least_severity": Severity.WARNING}, True),
        ({"least_severity": Severity.CRITICAL}, False),
        ({"labels": {"name": "nightly"}}, True),
        ({"labels": {"name": "hourly"}}, False),
        ({"labels": {"name": "nightly", "account": "1"}}, False),
        ({"enabled": False}, False),
    ],
)
def test_a_channel_is_told_what_it_wants(fields: dict[str, Any], wants: bool) -> None:
    channel = make_channel(**fields)
    raise_alert(problem(), now=NOW)
    assert told("opened") == ([channel.pk] if wants else [])


def test_an_event_keeps_its_words_as_they_were() -> None:
    make_channel()
    raise_alert(problem(url="/admin/1/", severity=Severity.CRITICAL), now=NOW)
    raise_alert(problem(sentence="It failed otherwise."), now=NOW)
    event = Event.objects.get()
    assert (event.kind, event.severity, event.title) == ("run_failed", "critical", "#1 nightly 2026-06-01")
    assert (event.text, event.url, event.labels, event.at) == ("It failed.", "/admin/1/", {"name": "nightly"}, NOW)


def test_case_61_a_channel_is_never_told_of_its_own_failures() -> None:
    failing, other = make_channel(), make_channel()
    raise_alert(problem("delivery_failing:1", subject=subject_of(failing)), now=NOW)
    resolve_alert("delivery_failing:1", now=NOW)
    assert told("opened") == told("recovered") == [other.pk]


def test_of_the_recovery_those_are_told_who_were_told_of_the_opening() -> None:
    first, second = make_channel(), make_channel()
    raise_alert(problem(), now=NOW)
    Delivery.objects.filter(channel=second).update(state="failed", ended_at=NOW)
    Channel.objects.filter(pk=first.pk).update(kinds=["quota_exhausted"])  # it was told, whatever it wants now
    make_channel()
    resolve_alert("run_failed:run:1", now=NOW)
    assert told("recovered") == [first.pk]
    recovery = Delivery.objects.get(event__telling="recovered")
    assert recovery.after == Delivery.objects.get(event__telling="opened", channel=first)


def test_of_what_nobody_was_told_the_recovery_is_not_told_either() -> None:
    raise_alert(problem(), now=NOW)
    make_channel()
    resolve_alert("run_failed:run:1", now=NOW)
    assert list(Event.objects.values_list("telling", flat=True)) == ["opened"]


def test_an_event_keeps_the_facts_of_what_a_person_should_know_of() -> None:
    facts = (("data day", "2026-06-01"), ("answer\x00", "token=s3cret"))
    tell(Attention("run_failed", "run_failed:run:1", "#1 nightly", "It failed.", NOW, facts=facts))
    assert Event.objects.get().facts == [["data day", "2026-06-01"], ["answer", "token=••••••"]]
