"""Many raise and send at once, and senders are killed: each event is told at most once, and none is forgotten."""

import threading
from collections import Counter
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.db.models import Q

from alerts import delivering, digesting
from alerts.delivering import LOST_SENDER, SENDER_LEASE
from alerts.families import GRACE
from alerts.models import Alert, Channel, Delivery, DeliveryTry, Event
from alerts.recording import Problem, raise_alert, raise_alerts, resolve_alert, resolve_alerts
from alerts.repeating import tell_untold
from alerts.states import Severity
from project.kit.clock import database_now
from tests.alerts.factories import AMBIGUOUS, RETRY, SENT, Clock, Sender, make_channel, problem, states, told_to
from tests.processes import Processes
from tests.races.helpers import PATIENCE_SECONDS, all_at_once, do_elsewhere, in_the_background, run_after
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


def cards(count: int, **fields: Any) -> list[Problem]:
    return [problem(f"card_failing:{number}", kind="card_failing", **fields) for number in range(count)]


def test_case_62_two_bulks_of_the_same_problems_in_opposite_orders_wait_for_each_other_and_open_each_once() -> None:
    make_channel()
    forth = cards(200)
    back = forth[::-1]
    for times in (4, 8, 12):
        all_at_once(*[partial(raise_alerts, problems, now=NOW) for problems in (forth, back)] * 2)
        assert set(Alert.objects.values_list("count", flat=True)) == {times}
    assert Alert.objects.count() == Event.objects.count() == Delivery.objects.count() == 200


def test_case_62_bulks_that_raise_and_resolve_the_same_in_opposite_orders_tell_each_opening_and_end_once() -> None:
    make_channel()
    forth = cards(100)
    ends = [problem.fingerprint for problem in forth[::-1]]
    for _ in range(3):
        all_at_once(
            *[partial(raise_alerts, forth, now=NOW), partial(resolve_alerts, ends, now=NOW)] * 2,
        )
    resolve_alerts(ends, now=NOW)
    assert sum(Alert.objects.values_list("count", flat=True)) == 600
    told = Counter(Event.objects.values_list("alert", "telling"))
    assert set(told.values()) == {1}
    assert not Alert.objects.filter(resolved_at__isnull=True).exists()


def test_case_62_of_eight_who_raise_it_as_more_severe_one_tells_those_who_want_that() -> None:
    channel = make_channel(least_severity="critical")
    raise_alert(problem(), now=NOW)
    all_at_once(*[partial(raise_alert, problem(severity=Severity.CRITICAL), now=NOW)] * 8)
    assert told_to(channel) == ["opened"]


def test_a_parent_that_comes_waits_for_nobody_who_raises_its_children_in_this_moment() -> None:
    make_channel()
    labels = {"account": "1"}
    raise_alerts(cards(2, labels=labels), now=NOW)
    holds, go_on = threading.Event(), threading.Event()

    def raise_one_and_then_the_account() -> None:
        with transaction.atomic():
            raise_alert(cards(1, labels=labels)[0], now=NOW)
            holds.set()
            go_on.wait(PATIENCE_SECONDS)
            raise_alert(problem("account_failing:1"), now=NOW)

    with in_the_background(raise_one_and_then_the_account):
        assert holds.wait(PATIENCE_SECONDS)
        do_elsewhere(lambda: raise_alert(problem("account_failing:1"), now=NOW, over=Q(labels__account="1")))
        assert [card.parent_id is None for card in Alert.objects.filter(kind="card_failing").order_by("pk")] == [
            True,
            False,
        ]
        go_on.set()
    raise_alert(problem("account_failing:1"), now=NOW, over=Q(labels__account="1"))
    assert not Alert.objects.filter(kind="card_failing", parent=None).exists()


def test_what_a_sender_takes_in_this_moment_is_left_to_it_when_a_parent_comes() -> None:
    channel = make_channel()
    raise_alerts(cards(1), now=NOW)
    over = partial(raise_alert, problem("account_failing:1", title="Account 1"), now=NOW, over=Q(kind="card_failing"))
    with run_after("alerts.digesting.next_message", over):  # it has locked the delivery, and not yet written so
        delivering.serve(channel.pk, send=Sender(), clock=Clock())
    assert states() == ["sent", "sent"]
    assert Alert.objects.get(kind="card_failing").told_at == NOW


def test_a_parent_that_ends_before_its_child_is_written_speaks_on_for_the_grace_and_no_longer() -> None:
    channel = make_channel()
    raise_alert(problem("account_failing:1"), now=NOW)
    with run_after("alerts.families.join", partial(resolve_alert, "account_failing:1", now=NOW)):
        raise_alerts(cards(1, parent="account_failing:1"), now=NOW)
    assert told_to(channel) == ["opened", "recovered"]
    assert tell_untold(now=NOW + GRACE) == 1
    assert told_to(channel) == ["opened", "recovered", "opened"]


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
