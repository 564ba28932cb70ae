"""The main job on real input: a crontab is imported, fired by beat, run by a runner, and seen on the run's page."""

from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from project.services import Redis
from scheduler.models import Attempt, Fire, Schedule, TaskRun
from scheduler.states import FireOutcome, RunState
from tests.processes import Processes

CRONTAB = """\
SHELL=/bin/sh
REGION=north
CRON_TZ=Asia/Tokyo

# Greet the region
* * * * *  echo "hello $REGION, day $TIDELINE_STAT_DATE"; cat%from the standard input%
# Figures of the night
30 2 * * *  /usr/local/bin/figures --all
"""


@pytest.mark.slow
def test_an_imported_crontab_is_fired_by_beat_and_its_output_is_on_the_page_of_its_run(
    processes: Processes, redis_server: Redis, tmp_path: Path
) -> None:
    crontab = tmp_path / "crontab"
    crontab.write_text(CRONTAB)
    call_command("import_crontab", str(crontab), "--user", "--apply")
    assert Schedule.objects.count() == 2

    for name in ("worker", "beat", "runner"):
        processes.start(name, REDIS_URL=redis_server.url)
    processes.wait_until(lambda: TaskRun.objects.filter(state=RunState.DONE).exists(), 90, "the first minute's run")

    run = TaskRun.objects.filter(state=RunState.DONE).earliest("pk")
    assert Fire.objects.get(pk=run.fire_id).outcome == FireOutcome.STARTED
    printed = f"hello north, day {run.stat_date}\nfrom the standard input\n"
    assert Attempt.objects.get(run=run).output == printed
    page = page_of(run)
    assert "from the standard input" in page
    assert str(run.stat_date) in page


def page_of(run: TaskRun) -> str:
    """Return the run's page as an administrator sees it."""
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("admin"))
    response = client.get(reverse("admin:scheduler_taskrun_change", args=[run.pk]))
    assert response.status_code == 200
    return response.content.decode()
