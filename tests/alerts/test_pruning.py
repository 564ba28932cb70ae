"""Which alerts and notices go, and which stay whatever their age."""

from typing import Any

import pytest

from alerts import pruning
from alerts.models import Alert, Delivery, DeliveryTry, Event
from alerts.recording import raise_alert, resolve_alert
from alerts.states import DeliveryState, Telling
from project.kit.pruning import count, prune
from tests.alerts.factories import make_channel, problem
from tests.scheduler.factories import DAY, HOUR, NOW, SECOND

pytestmark = pytest.mark.django_db

ALERTS, NOTICES = pruning.KINDS
OLD, LIMIT = NOW - 200 * DAY, NOW - 180 * DAY


def make_resolved(fingerprint: str = "one", **fields: Any) -> Alert:
    """Insert an old alert that was told and is well again, with everything about it sent."""
    alert = raise_alert(problem(fingerprint, **fields), now=OLD)
    resolve_alert(fingerprint, now=OLD + HOUR)
    Delivery.objects.update(state=DeliveryState.SENT, ended_at=OLD + HOUR)
    return alert


def make_notice(*states: DeliveryState) -> Event:
    """Insert an old event without an alert, with a delivery in each of the states."""
    event = Event.objects.create(telling=Telling.NOTICE, kind="run_done", severity="info", title="Done", at=OLD)
    for state in states:
        ended_at = None if state == DeliveryState.WAITING else OLD
        Delivery.objects.create(event=event, channel=make_channel(), state=state, due_at=OLD, ended_at=ended_at)
    return event


def goes(kind: Any = ALERTS) -> int:
    """Prune, and return how many rows went; it is as many as were foretold."""
    expected = count(kind, before=LIMIT)
    assert sum(prune(kind, before=LIMIT)) == expected
    return expected


def test_an_alert_that_was_resolved_long_ago_goes_with_all_that_was_told_of_it() -> None:
    channel = make_channel()
    make_resolved()
    DeliveryTry.objects.create(delivery=Delivery.objects.first(), channel=channel, at=OLD)
    assert goes() == 1
    assert [rows.objects.count() for rows in (Alert, Event, Delivery, DeliveryTry)] == [0, 0, 0, 0]


def test_an_open_alert_stays_whatever_its_age_with_what_was_told_of_it() -> None:
    make_channel()
    raise_alert(problem(), now=OLD)
    Delivery.objects.update(state=DeliveryState.SENT, ended_at=OLD)
    assert (goes(), goes(NOTICES)) == (0, 0)
    assert Delivery.objects.count() == 1


def test_an_alert_that_was_resolved_lately_stays() -> None:
    raise_alert(problem(), now=OLD)
    resolve_alert(problem().fingerprint, now=LIMIT + SECOND)
    assert goes() == 0


def test_an_alert_stays_while_something_of_it_is_to_be_sent() -> None:
    make_channel()
    make_resolved()
    Delivery.objects.filter(after__isnull=False).update(state=DeliveryState.WAITING, ended_at=None)
    assert goes() == 0


def test_an_alert_stays_while_its_flapping_is_not_over() -> None:
    make_channel()
    make_resolved()
    Event.objects.filter(telling=Telling.OPENED).update(telling=Telling.FLAPPING)
    assert goes() == 0
    Event.objects.update(ended_at=NOW)
    assert goes() == 1


def test_an_alert_stays_while_one_that_is_part_of_it_is_there() -> None:
    raise_alert(problem("account"), now=OLD)
    raise_alert(problem("card", parent="account"), now=OLD)
    resolve_alert("account", now=OLD)
    assert goes() == 0
    resolve_alert("card", now=OLD)
    assert [goes(), goes()] == [1, 1]


def test_what_was_told_in_the_digest_of_another_alert_outlives_it() -> None:
    make_channel()
    make_resolved()
    leader = Delivery.objects.first()
    raise_alert(problem("open"), now=NOW)
    Delivery.objects.filter(state=DeliveryState.WAITING).update(state=DeliveryState.SENT, ended_at=NOW, told_by=leader)
    assert goes() == 1
    assert list(Delivery.objects.values_list("state", "told_by")) == [(DeliveryState.SENT, None)]


def test_a_notice_goes_when_it_was_told_to_all_long_ago() -> None:
    make_notice(DeliveryState.SENT, DeliveryState.FAILED)
    assert goes(NOTICES) == 2
    assert Event.objects.count() == 0


def test_a_notice_stays_while_it_is_to_be_told_to_somebody() -> None:
    event = make_notice(DeliveryState.SENT, DeliveryState.WAITING)
    assert goes(NOTICES) == 1
    assert list(event.deliveries.values_list("state", flat=True)) == [DeliveryState.WAITING]
