"""Two people at once: one wins, and the other is told."""

from collections.abc import Callable
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connection

from scheduler.models import Schedule, TaskRun
from scheduler.states import RunState
from tests.panel import chief, posted_by
from tests.scheduler.admin.desk import action_on, page_of
from tests.scheduler.factories import make_run, make_schedule

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*requests: Callable[[], Any]) -> list[int]:
    """Make the requests at the same moment, and return their statuses, sorted."""
    start, statuses = Barrier(len(requests)), []

    def make(request: Callable[[], Any]) -> None:
        start.wait()
        try:
            statuses.append(request().status_code)
        finally:
            connection.close()

    threads = [Thread(target=make, args=[request]) for request in requests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(statuses)


def test_of_two_that_save_the_same_form_one_wins_and_the_other_sees_both_versions() -> None:
    for _ in range(3):
        schedule = make_schedule()
        clients = [chief(), chief()]
        forms = [posted_by(client.get(page_of(schedule)), "schedule_form") for client in clients]
        statuses = at_once(
            lambda: clients[0].post(page_of(schedule), forms[0] | {"priority": "1"}),  # noqa: B023 -- run before the next
            lambda: clients[1].post(page_of(schedule), forms[1] | {"priority": "2"}),  # noqa: B023
        )
        assert statuses == [200, 302]
        assert Schedule.objects.get(pk=schedule.pk).version == 2


def test_of_two_that_let_a_run_go_on_one_does() -> None:
    run, clients = make_run(RunState.SUSPENDED), [chief(), chief()]
    seen = clients[0].get(action_on(run, "go-on")).context["seen"]
    post = {"seen": seen, "reason": ""}
    at_once(*(lambda client=client: client.post(action_on(run, "go-on"), post) for client in clients))
    assert TaskRun.objects.get().state == RunState.PENDING
    assert run.events.filter(from_state=RunState.SUSPENDED).count() == 1
