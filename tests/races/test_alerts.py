"""Many raise and send at once, and senders are killed: each event is told at most once, and none is forgotten."""

from collections import Counter
from functools import partial

import pytest

from alerts import delivering, digesting
from alerts.delivering import LOST_SENDER, SENDER_LEASE
from alerts.models import Alert, Channel, Delivery, DeliveryTry, Event
from alerts.recording import raise_alert, resolve_alert
from project.kit.clock import database_now
from tests.alerts.factories import AMBIGUOUS, RETRY, SENT, Clock, Sender, make_channel, problem, states
from tests.processes import Processes
from tests.races.helpers import all_at_once, do_elsewhere
from tests.scheduler.factories import NOW

pytestmark = pytest.mark.django_db(transaction=True)

FAILED = "run_failed:run:1"


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each event be a message of its own."""
    monkeypatch.setattr(digesting, "BURST", 1000)


def raise_several(count: int) -> None:
    for number in range(count):
        raise_alert(problem(f"run_failed:run:{number}", title=f"run {number}"), now=NOW)


def test_case_62_of_eight_who_raise_the_same_problem_one_opens_it() -> None:
    make_channel()
    for number in range(5):
        same = problem(f"run_failed:run:{number}")
        alerts = all_at_once(*[partial(raise_alert, same, now=NOW)] * 8)
        assert len({alert.pk for alert in alerts}) == 1
    assert list(Alert.objects.values_list("count", flat=True)) == [8] * 5
    assert Delivery.objects.count() == Event.objects.count() == 5


def test_of_eight_who_resolve_the_same_problem_one_does() -> None:
    make_channel()
    raise_alert(problem(), now=NOW)
    resolved = all_at_once(*[partial(resolve_alert, FAILED, now=NOW)] * 8)
    assert sorted(resolved) == [False] * 7 + [True]
    assert Event.objects.filter(telling="recovered").count() == 1


def test_what_is_raised_again_amid_its_end_is_a_new_alert_or_counted_and_never_lost() -> None:
    make_channel()
    raise_alert(problem(), now=NOW)
    all_at_once(partial(resolve_alert, FAILED, now=NOW), partial(raise_alert, problem(), now=NOW))
    assert sum(Alert.objects.values_list("count", flat=True)) == 2


@pytest.mark.usefixtures("one_by_one")
def test_eight_senders_of_one_channel_tell_each_event_once_and_in_order() -> None:
    channel = make_channel()
    raise_several(20)
    send = Sender()
    while delivering.channels_to_serve(now=NOW):
        all_at_once(*[partial(delivering.serve, channel.pk, send=send, clock=Clock())] * 8)
    assert [title for _, title in send.told] == [f"run {number}" for number in range(20)]
    assert set(Delivery.objects.values_list("state", "tries")) == {("sent", 1)}


@pytest.mark.usefixtures("one_by_one")
def test_channels_are_served_side_by_side_and_each_is_told_everything_once() -> None:
    channels = [make_channel() for _ in range(4)]
    raise_several(10)
    send = Sender(RETRY, AMBIGUOUS, SENT)
    clock = Clock()
    while waiting := Delivery.objects.filter(state="waiting").order_by("-due_at").first():
        clock.now = max(clock.now, waiting.due_at)
        all_at_once(*[partial(delivering.serve, channel.pk, send=send, clock=clock) for channel in channels] * 2)
    told = Counter((name, message.title) for name, message in send.messages)
    assert len(told) == 40
    assert sum(told.values()) == 41  # the one that was certainly not taken was sent again
    assert Counter(Delivery.objects.values_list("state", flat=True)) == {"sent": 39, "unknown": 1}


def test_a_channel_that_is_turned_off_between_two_messages_is_told_no_more() -> None:
    channel = make_channel()
    raise_several(2)
    send = Sender(during=lambda: do_elsewhere(lambda: Channel.objects.update(enabled=False)))
    delivering.serve(channel.pk, send=send, clock=Clock())
    assert len(send.messages) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("one_by_one")
def test_what_a_killed_sender_had_in_hand_is_unknown_and_everything_else_is_told_once(processes: Processes) -> None:
    channel = make_channel()
    raise_several(4)
    told: list[str] = []
    clock = Clock(database_now())
    for hangs_at in (1, 2):  # each is killed amid its first or second message
        teller = processes.run("teller", f"exec python -m tests.races.teller {channel.pk} {hangs_at}")
        processes.wait_until(lambda: teller.output.count("told ") == hangs_at)  # noqa: B023 -- used at once
        teller.kill9()
        told += [line.removeprefix("told ") for line in teller.output.splitlines() if line.startswith("told ")]
        assert delivering.serve(channel.pk, send=Sender(), clock=database_now) == 0
        Channel.objects.update(sending_until=clock.now - SENDER_LEASE)  # its lease runs out
    send = Sender()
    delivering.serve(channel.pk, send=send, clock=database_now)
    told += [title for _, title in send.told]
    assert told == [f"run {number}" for number in range(4)]
    assert states() == ["unknown", "sent", "unknown", "sent"]
    assert DeliveryTry.objects.filter(meaning=LOST_SENDER).count() == 2
