"""`manage.py verify`: seals that fit, and one that does not."""

import pytest
from django.db import connection

from scheduler import sealing
from scheduler.models import TaskRun
from scheduler.states import RunState
from tests.scheduler.commands.asking import Shell
from tests.scheduler.factories import make_run, make_schedule

pytestmark = pytest.mark.django_db


def tamper_with(run: TaskRun) -> None:
    """Change an ended run as somebody could who may switch the database's triggers off."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        TaskRun.objects.filter(pk=run.pk).update(result={"rows": 18})
        cursor.execute("SET LOCAL session_replication_role = origin")


def test_a_run_or_all_runs_of_a_schedule_are_verified(shell: Shell) -> None:
    schedule = make_schedule(name="Nightly")
    run, _ = make_run(RunState.DONE, schedule=schedule), make_run(RunState.DONE, schedule=schedule)
    sealing.seal_ended()
    assert shell.says("verify", f"#{run.pk}").startswith(f"The seal of run #{run.pk} fits")
    assert shell.values("verify", "Nightly") == {"verified": 2, "changed": []}


def test_a_run_that_was_changed_afterwards_is_named_with_a_status_of_its_own(shell: Shell) -> None:
    schedule = make_schedule(name="Nightly")
    changed, _ = make_run(RunState.DONE, schedule=schedule), make_run(RunState.DONE, schedule=schedule)
    sealing.seal_ended()
    tamper_with(changed)
    assert shell.values("verify", "Nightly", status=3) == {"verified": 2, "changed": [changed.pk]}
    assert shell.says("verify", "Nightly", status=3) == f"Changed after they were sealed: #{changed.pk} (1 of 2)."


def test_what_has_no_seal_says_why(shell: Shell) -> None:
    going, ended = make_run(schedule=make_schedule(name="Nightly")), make_run(RunState.DONE)
    assert shell.refuses("verify", f"#{going.pk}").startswith(f"Run #{going.pk} has not ended (pending)")
    assert "the next scan seals it" in shell.refuses("verify", f"#{ended.pk}")
    assert shell.refuses("verify", "Nightly") == "No run of “Nightly” is sealed yet."
