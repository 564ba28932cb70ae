"""The outbox, channel by channel: in order, at most once, within limits, whatever the receiver does."""

from datetime import timedelta

import pytest
from structlog.contextvars import get_contextvars

from alerts import defining, delivering
from alerts.channels.base import Verdict
from alerts.delivering import RETRY_DELAYS
from alerts.failing import PAUSES
from alerts.messages import Message
from alerts.models import Alert, Channel, Delivery, DeliveryTry
from alerts.recording import raise_alert, resolve_alert
from alerts.states import AlertState, DeliveryOutcome
from tests.alerts.factories import AMBIGUOUS, PERMANENT, RETRY, SENT, Clock, Sender, make_channel, problem, states
from tests.alerts.outbox import raise_several, serve
from tests.scheduler.factories import NOW

pytestmark = pytest.mark.django_db


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


def test_nothing_is_due_before_its_time() -> None:
    channel, clock = make_channel(), Clock()
    raise_several(1, clock)
    Delivery.objects.update(due_at=NOW + timedelta(seconds=1))
    assert delivering.channels_to_serve(now=NOW) == []
    assert serve(channel, Sender(), clock) == 0
