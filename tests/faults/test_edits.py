"""People edit schedules while beat and others work on them: nobody waits, and no edit is lost."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, transaction

from project.kit.clock import database_now
from scheduler import firing, schedules
from scheduler.models import Fire, Schedule
from tests.scheduler.factories import make_schedule

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE_SECONDS = 20


def test_twenty_long_transactions_that_edit_schedules_wait_for_nobody() -> None:
    edited = [make_schedule() for _ in range(20)]
    due = make_schedule(due=database_now() - timedelta(seconds=1), interval_seconds=3600)
    all_have_edited = threading.Barrier(len(edited) + 1, timeout=PATIENCE_SECONDS)
    may_commit = threading.Event()

    def edit(schedule: Schedule) -> None:
        try:
            with transaction.atomic():
                schedule.description = "edited"
                schedules.save_changes(schedule, expected_version=schedule.version, now=database_now())
                all_have_edited.wait()
                assert may_commit.wait(PATIENCE_SECONDS)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(edited)) as people:
        edits = [people.submit(edit, schedule) for schedule in edited]
        all_have_edited.wait()
        assert firing.fire_all_due(now=database_now()).started == 1
        may_commit.set()
        for done in edits:
            done.result()

    assert Schedule.objects.filter(description="edited").count() == len(edited)
    assert Fire.objects.filter(schedule=due).count() == 1


def test_an_edit_of_a_schedule_that_fires_once_survives_its_fire() -> None:
    now = database_now()
    in_the_form = make_schedule(once_at=now, due=now, now=now - timedelta(seconds=1))

    firing.fire_all_due(now=now)
    in_the_form.description = "edited"
    schedules.save_changes(in_the_form, expected_version=in_the_form.version, now=now)

    schedule = Schedule.objects.get(pk=in_the_form.pk)
    assert (schedule.description, schedule.next_run_at) == ("edited", None)
    assert firing.fire_all_due(now=now + timedelta(days=1)).started == 0
    assert Fire.objects.filter(schedule=schedule).count() == 1
