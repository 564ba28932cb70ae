"""The outbox, channel by channel: in order, at most once, within limits, whatever the receiver does."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from structlog.contextvars import get_contextvars

from alerts import defining, delivering
from alerts.channels.base import Verdict
from alerts.delivering import RETRY_DELAYS, SENDER_LEASE, TURN
from alerts.failing import PAUSES
from alerts.messages import Message
from alerts.models import Alert, Channel, Delivery, DeliveryTry
from alerts.recording import raise_alert, resolve_alert
from alerts.states import AlertState, DeliveryOutcome, Severity
from tests.alerts.factories import AMBIGUOUS, PERMANENT, RETRY, SENT, Clock, Sender, make_channel, problem, states
from tests.scheduler.factories import NOW, utc

pytestmark = pytest.mark.django_db


def serve(channel: Channel, send: Sender, clock: Clock) -> int:
    return delivering.serve(channel.pk, send=send, clock=clock)


def raise_several(count: int, clock: Clock) -> None:
    for number in range(count):
        raise_alert(problem(f"run_failed:run:{number}", title=f"run {number}"), now=clock())


def test_what_is_raised_is_told_once_and_in_order() -> None:
    channel, send, clock = make_channel(), Sender(), Clock()
    raise_several(3, clock)
    assert serve(channel, send, clock) == 3
    assert send.told == [("opened", "run 0"), ("opened", "run 1"), ("opened", "run 2")]
    assert serve(channel, send, clock) == 0
    assert states() == ["sent"] * 3


def test_what_is_logged_while_a_message_is_sent_names_its_delivery() -> None:
    channel, clock, seen = make_channel(), Clock(), []

    def send(channel: Channel, message: Message) -> tuple[Verdict, int | None]:
        seen.append(get_contextvars())
        return SENT, 200

    raise_several(1, clock)
    delivering.serve(channel.pk, send=send, clock=clock)
    assert seen == [{"channel": channel.pk, "delivery": Delivery.objects.get().pk}]
    assert get_contextvars() == {}


def test_a_refused_message_is_tried_again_later_and_later_and_then_given_up() -> None:
    channel, send, clock = make_channel(), Sender(RETRY), Clock()
    raise_several(1, clock)
    for tries, delay in enumerate(RETRY_DELAYS, start=1):
        assert serve(channel, send, clock) == 1
        delivery = Delivery.objects.get()
        assert (delivery.state, delivery.tries, delivery.due_at) == ("waiting", tries, clock() + delay)
        assert serve(channel, send, clock) == 0
        clock.now = delivery.due_at
    serve(channel, send, clock)
    assert Delivery.objects.get(event__kind="run_failed").state == "failed"
    assert DeliveryTry.objects.filter(outcome="retry").count() == len(RETRY_DELAYS) + 1


def test_case_74_the_event_id_is_the_same_in_each_try() -> None:
    channel, send, clock = make_channel(), Sender(RETRY, SENT), Clock()
    raise_several(1, clock)
    serve(channel, send, clock)
    clock.pass_by(hours=1)
    serve(channel, send, clock)
    assert len({message.event_id for _, message in send.messages}) == 1
    assert len(send.messages) == 2


def test_the_pause_that_a_platform_asks_for_is_kept() -> None:
    slow = Verdict(DeliveryOutcome.RETRY, "429", "Too often.", retry_after=600)
    channel, send, clock = make_channel(), Sender(slow, SENT), Clock()
    raise_several(2, clock)
    serve(channel, send, clock)
    clock.pass_by(seconds=599)
    assert delivering.channels_to_serve(now=clock()) == []
    clock.pass_by(seconds=1)
    assert delivering.channels_to_serve(now=clock()) == [channel.pk]


def test_case_74_what_nobody_can_know_is_not_sent_again() -> None:
    channel, send, clock = make_channel(), Sender(AMBIGUOUS), Clock()
    raise_several(1, clock)
    serve(channel, send, clock)
    clock.pass_by(days=1)
    assert serve(channel, send, clock) == 0
    assert states() == ["unknown"]


def test_what_nobody_can_know_is_sent_again_where_the_channel_says_so() -> None:
    channel, send, clock = make_channel(retry_ambiguous=True), Sender(AMBIGUOUS, SENT), Clock()
    raise_several(1, clock)
    serve(channel, send, clock)
    clock.pass_by(hours=1)
    serve(channel, send, clock)
    assert states() == ["sent"]


def test_case_55_after_an_outage_of_ten_minutes_each_event_is_told_once_though_two_serve_it() -> None:
    channel, clock, taken = make_channel(), Clock(), []
    raise_several(2, clock)
    well_again = clock() + timedelta(minutes=10)

    def send(_: Channel, message: Message) -> tuple[Verdict, int]:
        assert serve(channel, send, clock) == 0
        if clock() < well_again:
            return RETRY, 500
        taken.append(message.title)
        return SENT, 200

    for _ in range(120):
        serve(channel, send, clock)
        clock.pass_by(seconds=30)
    assert sorted(taken) == ["run 0", "run 1"]
    assert Delivery.objects.filter(event__kind="run_failed").count() == 2


def test_one_sender_at_a_time() -> None:
    channel, clock = make_channel(), Clock()
    rival = Sender()
    send = Sender(during=lambda: serve(channel, rival, clock))
    raise_several(1, clock)
    assert serve(channel, send, clock) == 1
    assert rival.messages == []


def test_what_a_lost_sender_had_in_hand_is_unknown_and_the_rest_is_sent() -> None:
    channel, clock = make_channel(), Clock()

    def die() -> None:
        raise KeyboardInterrupt

    raise_several(1, clock)
    with pytest.raises(KeyboardInterrupt):
        serve(channel, Sender(during=die), clock)
    # kill -9 leaves the claim as well
    Channel.objects.update(sending_until=clock() + SENDER_LEASE)
    raise_alert(problem("run_failed:run:9", title="another"), now=clock())
    send = Sender()
    assert serve(channel, send, clock) == 0
    clock.pass_by(seconds=SENDER_LEASE.total_seconds() + 1)
    assert serve(channel, send, clock) == 1
    assert send.told == [("opened", "another")]
    assert states() == ["unknown", "sent"]


def test_a_message_that_loses_each_of_its_senders_is_given_up_though_it_may_be_sent_again() -> None:
    channel, clock = make_channel(retry_ambiguous=True), Clock()

    def die() -> None:
        raise KeyboardInterrupt

    raise_several(1, clock)
    for _ in range(len(RETRY_DELAYS) + 1):
        with pytest.raises(KeyboardInterrupt):
            serve(channel, Sender(during=die), clock)
    send = Sender()
    assert serve(channel, send, clock) == 0
    assert states() == ["unknown"]
    assert set(DeliveryTry.objects.values_list("outcome", flat=True)) == {"ambiguous"}


def test_a_late_sender_undoes_nothing() -> None:
    channel, clock, rival = make_channel(), Clock(), Sender()

    def be_slow() -> None:
        clock.pass_by(seconds=SENDER_LEASE.total_seconds() + 1)
        serve(channel, rival, clock)

    raise_several(1, clock)
    serve(channel, Sender(RETRY, during=be_slow), clock)
    assert rival.messages == []
    assert states() == ["unknown"]


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


@pytest.mark.parametrize("verdict", [AMBIGUOUS, PERMANENT])
def test_a_channel_that_fails_is_tried_with_one_delivery_alone_until_it_takes_one(verdict: Verdict) -> None:
    channel, send, clock = make_channel(), Sender(verdict, verdict, SENT), Clock()
    raise_several(1, clock)
    serve(channel, send, clock)
    raise_several(51, clock)
    serve(channel, send, clock)
    assert states().count("waiting") == 49
    clock.pass_by(hours=1)
    serve(channel, send, clock)
    assert states().count("sent") == 49
    assert [telling for telling, _ in send.told] == ["opened", "opened", "opened", "digest"]


def test_a_channel_that_fails_again_and_again_is_left_alone_for_longer_and_longer() -> None:
    channel, send, clock = make_channel(), Sender(PERMANENT), Clock()
    for number, pause in enumerate([*PAUSES, PAUSES[-1]]):
        raise_alert(problem(f"run_failed:run:{number}"), now=clock())
        assert serve(channel, send, clock) == 1
        raise_alert(problem(f"run_failed:run:{number}:another"), now=clock())
        free_at = clock() + pause
        assert delivering.channels_to_serve(now=free_at) == [channel.pk]
        assert not pause or delivering.channels_to_serve(now=free_at - timedelta(microseconds=1)) == []
        clock.now = free_at


def test_what_was_refused_is_tried_at_once_when_its_channel_is_mended() -> None:
    channel, send, clock = make_channel(), Sender(RETRY, RETRY, RETRY, SENT), Clock()
    raise_several(1, clock)
    for _ in range(3):
        serve(channel, send, clock)
        clock.now = Delivery.objects.order_by("id")[0].due_at
    Delivery.objects.update(due_at=clock() + timedelta(hours=5))
    assert serve(channel, send, clock) == 0
    channel = Channel.objects.get()
    channel.keyword = "Tide"
    defining.save_changes(channel, expected_version=channel.version, now=clock())
    assert serve(channel, send, clock) == 1
    assert states() == ["sent"]


def test_each_delivery_of_a_digest_has_all_its_tries() -> None:
    channel, clock = make_channel(), Clock()
    raise_several(5, clock)
    first = Delivery.objects.order_by("id")[0]
    Delivery.objects.filter(pk=first.pk).update(tries=len(RETRY_DELAYS))
    serve(channel, Sender(RETRY), clock)
    assert states() == ["failed", *["waiting"] * 4]


def test_a_sender_lets_go_of_a_channel_with_much_to_tell_when_it_has_had_its_turn() -> None:
    channel, clock = make_channel(), Clock()
    raise_several(3, clock)
    send = Sender(during=lambda: clock.pass_by(seconds=TURN.total_seconds() / 2))
    assert serve(channel, send, clock) == 2
    assert delivering.channels_to_serve(now=clock()) == [channel.pk]
    assert serve(channel, send, clock) == 1


def test_case_59_the_platforms_limit_is_kept_and_nothing_is_lost() -> None:
    channel = make_channel(format="dingtalk", address="https://oapi.dingtalk.com/robot/send?access_token=x")
    send, clock = Sender(), Clock()
    for number in range(25):
        raise_alert(problem(f"run_failed:run:{number}", title=f"run {number}"), now=clock())
        serve(channel, send, clock)
    assert len(send.messages) == 20
    assert delivering.channels_to_serve(now=clock()) == []
    clock.pass_by(seconds=61)
    assert delivering.channels_to_serve(now=clock()) == [channel.pk]
    serve(channel, send, clock)
    assert states() == ["sent"] * 25


def test_a_recovery_goes_to_exactly_those_who_were_told_of_the_opening() -> None:
    told, refused, later = make_channel(), make_channel(), None
    send, clock = Sender(), Clock()
    raise_alert(problem(), now=clock())
    serve(told, send, clock)
    serve(refused, Sender(PERMANENT), clock)
    later = make_channel()
    resolve_alert("run_failed:run:1", now=clock())
    for channel in (told, refused, later):
        serve(channel, send, clock)
    assert [(name, message.telling) for name, message in send.messages] == [
        (told.name, "opened"),
        (told.name, "recovered"),
    ]


def test_a_recovery_waits_for_its_opening_and_is_dropped_with_it() -> None:
    channel, clock = make_channel(), Clock()
    raise_alert(problem(), now=clock())
    resolve_alert("run_failed:run:1", now=clock())
    send = Sender(RETRY, PERMANENT)
    serve(channel, send, clock)
    assert states() == ["waiting", "waiting"]
    clock.pass_by(hours=1)
    serve(channel, send, clock)
    clock.pass_by(hours=1)
    serve(channel, send, clock)
    assert states() == ["failed", "dropped"]


def test_a_channel_that_is_off_is_told_nothing_of_the_time_in_which_it_was() -> None:
    channel, send, clock = make_channel(), Sender(), Clock()
    raise_several(2, clock)
    Channel.objects.update(enabled=False)
    serve(channel, send, clock)
    Channel.objects.update(enabled=True)
    serve(channel, send, clock)
    assert send.messages == []
    assert states() == ["dropped", "dropped"]


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


def test_case_61_a_channel_that_fails_is_told_on_the_others_and_never_on_itself() -> None:
    failing, well = make_channel(), make_channel()
    clock = Clock()
    for number in range(3):
        raise_alert(problem(f"run_failed:run:{number}"), now=clock())
        serve(failing, Sender(PERMANENT), clock)
        clock.pass_by(minutes=1)
    alert = Alert.objects.get(kind="delivery_failing")
    assert alert.state == AlertState.OPEN
    assert list(Delivery.objects.filter(event__alert=alert).values_list("channel", flat=True)) == [well.pk]
    raise_alert(problem("run_failed:run:9"), now=clock())
    serve(failing, Sender(SENT), clock)
    alert.refresh_from_db()
    assert alert.state == AlertState.RESOLVED


def test_another_channel_is_not_held_up_by_a_slow_one() -> None:
    slow, quick = make_channel(), make_channel()
    clock, send = Clock(), Sender()
    raise_several(1, clock)
    serve(slow, Sender(during=lambda: serve(quick, send, clock)), clock)
    assert send.told == [("opened", "run 0")]


def test_nothing_is_due_before_its_time() -> None:
    channel, clock = make_channel(), Clock()
    raise_several(1, clock)
    Delivery.objects.update(due_at=NOW + timedelta(seconds=1))
    assert delivering.channels_to_serve(now=NOW) == []
    assert serve(channel, Sender(), clock) == 0
