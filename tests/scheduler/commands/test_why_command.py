"""`manage.py why` answers on the command line what the pages answer."""

import pytest

from project.kit.clock import database_now
from project.scans import mark
from scheduler import firing
from scheduler.models import Schedule
from scheduler.states import RunState
from tests.scheduler.commands.asking import Shell
from tests.scheduler.factories import HOUR, SECOND, make_run, make_schedule, utc

pytestmark = pytest.mark.django_db

DUE = utc("2026-06-02 02:00")


@pytest.fixture(autouse=True)
def scans_run() -> None:
    """The scans ran just now."""
    for scan in ("fire due schedules", "launch due runs", "rescue lost runs"):
        mark(scan, by="test")


def test_a_schedule_by_name_or_id_says_where_it_stands_and_what_its_run_waits_for(shell: Shell) -> None:
    schedule = make_schedule(name="Nightly", now=database_now())
    run = make_run(RunState.SUSPENDED, now=database_now(), schedule=schedule)
    for name in ("Nightly", schedule.pk):
        lines = shell.says("why", name).splitlines()
        assert lines[0] == "“Nightly” is enabled and waits for its next due time."
        assert lines[1].startswith("  next       It fires next at ")
        assert lines[2] == f"  shown by   schedule #{schedule.pk}"
        assert lines[3].startswith(f"Run #{run.pk} was interrupted and is suspended")
        assert "  waits for  a person's decision" in lines


def test_a_run_by_number_says_why_it_is_where_it_is(shell: Shell) -> None:
    run = make_run(RunState.PAUSED)
    assert shell.says("why", f"#{run.pk}").startswith(f"Run #{run.pk} is paused")


def test_an_instant_without_an_offset_is_on_the_schedules_clocks(shell: Shell) -> None:
    schedule = make_schedule(cron="0 10 * * *", timezone="Asia/Shanghai", due=DUE)
    firing.fire_all_due(now=DUE + SECOND)
    for at in ("2026-06-02T10:00", "2026-06-02 10:00", "2026-06-02T02:00Z"):
        assert "fired on time at 2026-06-02 10:00:00 Asia/Shanghai" in shell.says("why", schedule.pk, "--at", at)


def test_a_time_of_day_means_todays(shell: Shell) -> None:
    schedule = make_schedule(cron="30 4 * * *", now=database_now())
    assert "04:31:00 UTC is not a due time" in shell.says("why", schedule.pk, "--at", "04:31")


def test_a_zone_that_is_gone_does_not_keep_it_from_answering(shell: Shell) -> None:
    schedule = make_schedule(now=database_now())
    Schedule.objects.update(timezone="Mars/Olympus")
    assert "The time zone “Mars/Olympus” is not known." in shell.says("why", schedule.pk, "--at", "04:31")


def test_programs_get_the_situation_and_the_rows(shell: Shell) -> None:
    run = make_run(now=database_now() - HOUR)
    values = shell.values("why", f"#{run.pk}")
    assert values["situation"] == "due"
    assert values["rows"][0] == {"kind": "run", "id": run.pk}


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (["nightly"], "There is no schedule “nightly”. Did you mean “The nightly one”?"),
        (["#99999999"], "There is no run #99999999."),
        (["99999999"], "There is no schedule “99999999”. If a run is meant, write '#99999999'."),
        (["#twelve"], "“#twelve” is not the number of a run"),
        (["#9223372036854775808"], "is not the number of a run"),
        (["The nightly one", "--at", "yesterday"], "--at “yesterday” is not an ISO time"),
        (["The nightly one", "--at", "0001-01-01"], "is outside the years 1900 to 9000"),
    ],
)
def test_what_cannot_be_found_or_read_is_one_sentence(shell: Shell, asked: list[str], sentence: str) -> None:
    make_schedule(name="The nightly one", now=database_now())
    assert sentence in shell.refuses("why", *asked)


def test_an_instant_goes_with_a_schedule_only(shell: Shell) -> None:
    assert "--at goes with a schedule" in shell.refuses("why", f"#{make_run().pk}", "--at", "04:31")
