"""What goes next of a channel, and what becomes one digest."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from alerts import delivering
from alerts.delivering import RETRY_DELAYS
from alerts.models import Delivery
from alerts.recording import raise_alert, resolve_alert
from alerts.states import Severity
from tests.alerts.factories import RETRY, Clock, Sender, make_channel, problem, states
from tests.alerts.outbox import raise_several, serve
from tests.scheduler.factories import utc

pytestmark = pytest.mark.django_db


def test_a_burst_is_one_digest() -> None:
    channel, send, clock = make_channel(), Sender(), Clock()
    raise_several(50, clock)
    assert serve(channel, send, clock) == 1
    ((_, message),) = send.messages
    assert message.telling == "digest"
    assert message.title == "50 messages: run failed (50)"
    assert "run 0" in message.text
    assert "… and 20 more" in message.text
    assert states() == ["sent"] * 50
    assert Delivery.objects.filter(told_by__isnull=False).count() == 49


def test_what_is_critical_goes_first_and_does_not_drown_in_a_digest() -> None:
    channel, send, clock = make_channel(), Sender(), Clock()
    raise_several(50, clock)
    raise_alert(problem("beat_silent", title="beat", severity=Severity.CRITICAL), now=clock())
    assert serve(channel, send, clock) == 2
    assert send.told == [("opened", "beat"), ("digest", "50 messages: run failed (50)")]


def test_a_critical_message_does_not_wait_behind_a_backlog_that_takes_minutes() -> None:
    channel = make_channel(format="dingtalk", address="https://oapi.dingtalk.com/robot/send?access_token=x")
    send, clock = Sender(), Clock()
    for number in range(20):
        raise_alert(problem(f"run_failed:run:{number}"), now=clock())
        serve(channel, send, clock)
    raise_several(150, clock)
    raise_alert(problem("beat_silent", title="beat", severity=Severity.CRITICAL), now=clock())
    assert serve(channel, send, clock) == 0
    clock.pass_by(seconds=61)
    serve(channel, send, clock)
    assert send.told[20:] == [
        ("opened", "beat"),
        ("digest", "100 messages: run failed (100)"),
        ("digest", "30 messages: run failed (30)"),
    ]


def test_what_goes_next_is_read_in_its_order_from_an_index() -> None:
    channel, clock = make_channel(), Clock()
    raise_several(5, clock)
    with CaptureQueriesContext(connection) as queries:
        serve(channel, Sender(), clock)
    asked = next(query["sql"] for query in queries if '"urgency" DESC' in query["sql"])
    with connection.cursor() as cursor:
        # of a table this small the planner would rather sort what it has read
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
        cursor.execute(f"EXPLAIN {asked}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "using delivery_most_urgent_first" in plan


def test_a_critical_recovery_does_not_come_before_its_opening() -> None:
    channel, send, clock = make_channel(), Sender(), Clock()
    raise_alert(problem("disk:1", title="disk", severity=Severity.CRITICAL), now=clock())
    resolve_alert("disk:1", now=clock())
    raise_several(2, clock)
    serve(channel, send, clock)
    assert send.told == [("opened", "disk"), ("recovered", "disk"), ("opened", "run 0"), ("opened", "run 1")]


def test_each_delivery_of_a_digest_has_all_its_tries() -> None:
    channel, clock = make_channel(), Clock()
    raise_several(5, clock)
    first = Delivery.objects.order_by("id")[0]
    Delivery.objects.filter(pk=first.pk).update(tries=len(RETRY_DELAYS))
    serve(channel, Sender(RETRY), clock)
    assert states() == ["failed", *["waiting"] * 4]


def test_in_quiet_hours_it_waits_and_is_one_digest_at_their_end() -> None:
    clock = Clock(utc("2026-06-01 23:00"))
    channel = make_channel(quiet_from="22:00", quiet_until="06:00", timezone="Europe/Berlin")
    channel.refresh_from_db()
    send = Sender()
    raise_several(5, clock)
    assert serve(channel, send, clock) == 0
    assert delivering.channels_to_serve(now=clock()) == []
    clock.now = utc("2026-06-02 04:00")  # 06:00 in Berlin
    assert serve(channel, send, clock) == 1
    assert send.told == [("digest", "5 messages: run failed (5)")]
