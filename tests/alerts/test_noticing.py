"""Notices are told only to those who named their kind, with what they tell of or not at all; and whether anybody wants
one is known without asking each time.
"""

from typing import Any

import pytest
from django.db import transaction

from alerts import noticing
from alerts.delivering import serve
from alerts.models import Alert, Channel, Delivery, Event, Silence
from alerts.noticing import REFRESH_SECONDS, Notice, Subscriptions
from alerts.recording import raise_alert
from alerts.states import Severity
from project.kit.secrets import DOTS
from tests.alerts.factories import Clock, Sender, make_channel, problem
from tests.scheduler.factories import HOUR, NOW

pytestmark = pytest.mark.django_db

KIND = "run_succeeded"


def notice(**fields: Any) -> Notice:
    """Return the notice of a run that is done."""
    values: dict[str, Any] = {
        "kind": KIND,
        "subject": "#1 nightly 2026-06-01",
        "sentence": "Done in 5 s.",
        "at": NOW,
        "labels": {"name": "nightly"},
    }
    return Notice(**values | fields)


def told() -> list[tuple[str, int]]:
    """Return what is told to whom: kinds and channels, in the order of their deliveries."""
    return list(Delivery.objects.order_by("id").values_list("event__kind", "channel"))


# --- who is told ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "is_told"),
    [
        ({}, False),
        ({"kinds": ["run_failed"]}, False),
        ({"kinds": [KIND]}, True),
        ({"kinds": ["run_failed", KIND]}, True),
        ({"kinds": [KIND], "least_severity": Severity.CRITICAL}, True),
        ({"kinds": [KIND], "labels": {"name": "nightly"}}, True),
        ({"kinds": [KIND], "labels": {"name": "hourly"}}, False),
        ({"kinds": [KIND], "labels": {"name": "nightly", "job": "http"}}, False),
        ({"kinds": [KIND], "enabled": False}, False),
    ],
)
def test_a_notice_is_told_to_the_channels_that_name_its_kind_and_whose_labels_fit(
    fields: dict[str, Any], is_told: bool
) -> None:
    channel = make_channel(**fields)
    noticing.tell([notice()])
    assert told() == ([(KIND, channel.pk)] if is_told else [])


def test_a_channel_that_names_nothing_is_told_of_every_problem_and_of_no_notice() -> None:
    channel = make_channel()
    noticing.tell([notice()])
    raise_alert(problem(), now=NOW)
    assert told() == [("run_failed", channel.pk)]


def test_a_notice_that_nobody_wants_is_not_written() -> None:
    wanting = make_channel(kinds=[KIND], labels={"name": "nightly"})
    noticing.tell([notice(labels={"name": "hourly"}), notice()])
    assert told() == [(KIND, wanting.pk)]
    assert Event.objects.count() == 1


@pytest.mark.parametrize(
    ("silence", "is_told"),
    [
        ({"kind": KIND}, False),
        ({"kind": "", "labels": {"name": "nightly"}}, False),
        ({"kind": "run_failed"}, True),
        ({"labels": {"name": "hourly"}}, True),
        ({"ends_at": NOW}, True),
        ({"starts_at": NOW}, False),
        ({"starts_at": NOW + HOUR, "ends_at": NOW + 2 * HOUR}, True),
    ],
)
def test_a_silence_holds_a_notice_back(silence: dict[str, Any], is_told: bool) -> None:
    make_channel(kinds=[KIND])
    times = {"starts_at": NOW - HOUR, "ends_at": NOW + HOUR}
    Silence.objects.create(reason="Migration", **times | silence)
    noticing.tell([notice()])
    assert bool(told()) == is_told


def test_the_notices_of_many_are_written_in_their_order_by_one_statement(django_assert_num_queries: Any) -> None:
    first, second = make_channel(kinds=[KIND]), make_channel(kinds=[KIND])
    with django_assert_num_queries(1):
        noticing.tell(notice(subject=f"#{number}") for number in range(50))
    titles = list(Delivery.objects.filter(channel=first).order_by("id").values_list("event__title", flat=True))
    assert titles == [f"#{number}" for number in range(50)]
    assert Delivery.objects.filter(channel=second).count() == 50
    with django_assert_num_queries(0):
        noticing.tell([])


# --- what is told --------------------------------------------------------------------------------------------------


def test_a_notice_is_an_event_without_an_alert_and_due_at_once() -> None:
    make_channel(kinds=[KIND])
    noticing.tell([notice(facts=(("Data day", "2026-06-01"),), url="/admin/1/")])
    event = Event.objects.get()
    assert (event.alert, event.telling, event.kind, event.severity) == (None, "notice", KIND, "info")
    assert (event.title, event.text, event.url, event.at) == ("#1 nightly 2026-06-01", "Done in 5 s.", "/admin/1/", NOW)
    assert (event.facts, event.labels) == ([["Data day", "2026-06-01"]], {"name": "nightly"})
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.due_at, delivery.tries, delivery.ended_at) == ("waiting", NOW, 0, None)
    assert not Alert.objects.exists()


def test_a_notice_goes_out_as_any_message_does() -> None:
    channel, sender = make_channel(kinds=[KIND]), Sender()
    noticing.tell([notice()])
    assert serve(channel.pk, send=sender, clock=Clock()) == 1
    assert sender.told == [("notice", "#1 nightly 2026-06-01")]


def test_what_no_column_can_hold_and_what_is_secret_is_not_written() -> None:
    make_channel(kinds=[KIND])
    noticing.tell(
        [
            notice(
                subject="a\nb\x00", sentence="password=s3cret", facts=(("x", "token=s3cret"),), labels={"name": "\x00"}
            )
        ]
    )
    event = Event.objects.get()
    assert (event.title, event.text, event.labels) == ("a b", f"password={DOTS}", {"name": ""})
    assert event.facts == [["x", f"token={DOTS}"]]


def test_a_notice_is_written_with_what_the_caller_writes_or_not_at_all() -> None:
    make_channel(kinds=[KIND])
    with transaction.atomic():
        noticing.tell([notice()])
        transaction.set_rollback(True)
    assert not Event.objects.exists()
    assert told() == []


# --- whether anybody wants it ----------------------------------------------------------------------------------------


class Seconds:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_whether_a_kind_is_named_is_asked_once_in_five_seconds(django_assert_num_queries: Any) -> None:
    make_channel(kinds=[KIND, "run_failed"])
    make_channel(kinds=["run_skipped"], enabled=False)
    make_channel()
    seconds = Seconds()
    subscriptions = Subscriptions(seconds)
    with django_assert_num_queries(1):
        assert subscriptions.include(KIND)
        assert not subscriptions.include("run_skipped")
        seconds.now = REFRESH_SECONDS - 0.1
        assert subscriptions.include(KIND)
    with django_assert_num_queries(1):
        seconds.now = REFRESH_SECONDS
        assert subscriptions.include(KIND)


def test_a_channel_that_begins_to_name_a_kind_is_heeded_within_five_seconds() -> None:
    seconds = Seconds()
    subscriptions = Subscriptions(seconds)
    assert not subscriptions.include(KIND)
    make_channel(kinds=[KIND])
    assert not subscriptions.include(KIND)
    seconds.now = REFRESH_SECONDS
    assert subscriptions.include(KIND)


def test_a_channel_that_names_a_kind_no_more_is_told_nothing_from_then_on() -> None:
    subscriptions = Subscriptions(Seconds())
    make_channel(kinds=[KIND])
    assert subscriptions.include(KIND)
    Channel.objects.update(kinds=[])
    assert subscriptions.include(KIND)
    noticing.tell([notice()])
    assert told() == []
