"""What a worker's child notes after a task."""

from typing import Any

import pytest
from celery.states import FAILURE, SUCCESS

from project import worker
from project.models import ScanMark
from scheduler import tasks

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("state", "retval", "note"),
    [
        (SUCCESS, "", ""),
        (SUCCESS, None, ""),
        (SUCCESS, "Broker unreachable: due runs stay due.", "Broker unreachable: due runs stay due."),
        (FAILURE, KeyError("secret"), "The scan failed (KeyError); the worker's log says more, and the next one tries"),
    ],
)
def test_a_scan_notes_what_it_said_or_that_it_failed(state: str, retval: Any, note: str) -> None:
    worker._under_way.append(tasks.fire_due.name)
    worker._after_task(task=tasks.fire_due, retval=retval, state=state)
    mark = ScanMark.objects.get(name="fire due schedules")
    assert mark.note.startswith(note)
    assert "secret" not in mark.note
    assert bool(mark.note) == bool(note)
