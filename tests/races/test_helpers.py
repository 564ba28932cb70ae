"""The helpers of these tests see what they claim to see."""

import pytest

from scheduler import operations
from scheduler.models import TaskRun
from tests.races.helpers import Background, all_at_once, do_elsewhere, run_after, run_before, winner_holding
from tests.scheduler.factories import NOW, make_run

pytestmark = pytest.mark.django_db(transaction=True)


def test_who_wants_a_held_row_is_seen_to_wait_until_the_winner_lets_go() -> None:
    run = make_run()
    with winner_holding(run) as go_on:
        loser = Background(lambda: operations.cancel(run, now=NOW, actor="ann"))
        loser.wait_until_it_waits()
        go_on.set()
        assert loser.result() is True


def test_who_ends_without_waiting_is_no_loser() -> None:
    idle = Background(lambda: None)
    idle.result()
    with pytest.raises(AssertionError, match="without waiting"):
        idle.wait_until_it_waits()


def test_the_winner_acts_before_it_lets_go() -> None:
    run = make_run()
    with winner_holding(run, then=lambda: TaskRun.objects.filter(pk=run.pk).update(reason="mine")):
        assert TaskRun.objects.get(pk=run.pk).reason == ""
    assert TaskRun.objects.get(pk=run.pk).reason == "mine"


def test_a_rival_acts_once_and_on_its_side_of_the_call() -> None:
    order: list[str] = []
    for hook, expected in ((run_before, ["rival", "call", "call"]), (run_after, ["call", "rival", "call"])):
        order.clear()
        with hook("tests.races.test_helpers.call", lambda: order.append("rival")):
            call(order)
            call(order)
        assert order == expected


def call(order: list[str]) -> None:
    """Be called."""
    order.append("call")


def test_a_rival_that_never_acted_is_a_fault_of_the_test() -> None:
    with pytest.raises(AssertionError, match="the rival never acted"), run_before("os.getpid", lambda: None):
        pass


def test_the_error_of_a_rival_comes_out() -> None:
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        do_elsewhere(fail)
    with pytest.raises(ZeroDivisionError):
        all_at_once(lambda: None, fail)
