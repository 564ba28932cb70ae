"""Who serves a channel: one at a time, and what becomes of what a lost one had in hand."""

import pytest

from alerts import delivering
from alerts.delivering import RETRY_DELAYS, SENDER_LEASE, TURN
from alerts.models import Channel, DeliveryTry
from alerts.recording import raise_alert
from tests.alerts.factories import RETRY, Clock, Sender, make_channel, problem, states
from tests.alerts.outbox import raise_several, serve

pytestmark = pytest.mark.django_db


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


def test_a_sender_lets_go_of_a_channel_with_much_to_tell_when_it_has_had_its_turn() -> None:
    channel, clock = make_channel(), Clock()
    raise_several(3, clock)
    send = Sender(during=lambda: clock.pass_by(seconds=TURN.total_seconds() / 2))
    assert serve(channel, send, clock) == 2
    assert delivering.channels_to_serve(now=clock()) == [channel.pk]
    assert serve(channel, send, clock) == 1


def test_another_channel_is_not_held_up_by_a_slow_one() -> None:
    slow, quick = make_channel(), make_channel()
    clock, send = Clock(), Sender()
    raise_several(1, clock)
    serve(slow, Sender(during=lambda: serve(quick, send, clock)), clock)
    assert send.told == [("opened", "run 0")]
