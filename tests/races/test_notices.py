"""A run that tells what becomes of it, and a channel that goes at the same moment: the run is never undone by that."""

from contextlib import suppress
from functools import partial

import pytest
from django.db import IntegrityError, transaction

from alerts import noticing
from alerts.models import Channel, Delivery
from alerts.noticing import Subscriptions
from scheduler import running, transitions
from scheduler.models import TaskRun
from scheduler.notices import Kind
from scheduler.running import Outcome
from scheduler.states import AttemptOutcome, EventTrigger, RunState
from tests.alerts.factories import make_channel
from tests.races.helpers import Background, run_before, winner_holding
from tests.scheduler.factories import HOUR, NOW, WORKER, claim_of, events_of, launched, make_run

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def channel(monkeypatch: pytest.MonkeyPatch) -> Channel:
    """A channel that wants to know which runs begin and are done, and is known to."""
    monkeypatch.setattr(noticing, "subscriptions", Subscriptions())
    channel = make_channel(kinds=[Kind.RUN_STARTED, Kind.RUN_SUCCEEDED])
    assert noticing.is_wanted(Kind.RUN_SUCCEEDED)
    return channel


def settle(run: TaskRun) -> bool:
    return running.settle(run, Outcome(RunState.DONE, AttemptOutcome.DONE), now=NOW)


class Unsaid(Exception):
    """It could not be told."""


def fall_silent() -> None:
    """Fail to tell anybody."""
    raise Unsaid


@pytest.mark.usefixtures("channel")
def test_a_run_neither_begins_nor_ends_where_that_cannot_be_told_to_those_who_asked_for_it() -> None:
    waiting, at_work = make_run(), make_run(RunState.RUNNING)
    claim = launched(waiting)
    silence = partial(run_before, "scheduler.notices.tell_of_runs", fall_silent, elsewhere=False)
    with silence(), pytest.raises(Unsaid):
        transitions.begin(claim, WORKER, now=NOW, lease_until=NOW + HOUR)
    with silence(), pytest.raises(Unsaid):
        transitions.move([claim_of(at_work)], RunState.DONE, now=NOW, trigger=EventTrigger.JOB)
    assert [events_of(run)[-1][1] for run in (waiting, at_work)] == [RunState.PENDING, RunState.RUNNING]
    assert TaskRun.objects.get(pk=waiting.pk).state == RunState.PENDING
    assert TaskRun.objects.get(pk=at_work.pk).state == RunState.RUNNING


def test_who_deletes_a_channel_waits_for_the_run_that_tells_it_something(channel: Channel) -> None:
    run = make_run(RunState.RUNNING)

    def delete() -> None:
        with suppress(IntegrityError):  # it holds something to tell by now, and can be deleted again
            channel.delete()

    with transaction.atomic():
        assert settle(run)
        deletion = Background(delete)
        deletion.wait_until_it_waits()
    deletion.result()
    assert TaskRun.objects.get(pk=run.pk).state == RunState.DONE
    assert Delivery.objects.filter(channel=channel.pk).count() == 1


def test_a_run_ends_although_the_channel_that_it_would_tell_is_just_deleted(channel: Channel) -> None:
    run = make_run(RunState.RUNNING)
    with winner_holding(channel, then=lambda: Channel.objects.filter(pk=channel.pk).delete()) as go_on:
        settling = Background(lambda: settle(run))
        settling.wait_until_it_waits()
        go_on.set()
        assert settling.result()
    assert TaskRun.objects.get(pk=run.pk).state == RunState.DONE
    assert not Delivery.objects.exists()
