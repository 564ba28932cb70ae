"""When schedules fire next, and why they did or did not, over the API."""

from datetime import timedelta
from typing import Any

import pytest

from project.kit.clock import database_now
from scheduler.models import Schedule
from tests.kit.api.caller import chiefs_program
from tests.scheduler.api.desk import fields_refused, make_fire, shown
from tests.scheduler.factories import DAY, make_calendar, make_schedule

pytestmark = pytest.mark.django_db


def test_an_expression_is_previewed_in_its_zone() -> None:
    told: Any = shown("schedules/preview/?cron=30 2 * * *&timezone=Asia/Shanghai&count=3")
    assert len(told["fires"]) == 3
    assert all(fire["at"].endswith("T18:30:00Z") for fire in told["fires"])
    assert all(fire["local"].endswith("T02:30:00+08:00") for fire in told["fires"])
    assert told["words"]
    assert told["fault"] == ""


def test_an_interval_is_previewed() -> None:
    told: Any = shown("schedules/preview/?trigger=interval&interval_seconds=90&count=2")
    first, second = (fire["at"] for fire in told["fires"])
    assert first < second


def test_what_a_change_of_the_clocks_does_is_remarked() -> None:
    told: Any = shown("schedules/preview/?cron=30 2 * 3 sun&timezone=Europe/Berlin&count=6")
    assert [fire["remark"] for fire in told["fires"] if fire["remark"]]


def test_a_changed_expression_is_previewed_beside_the_present_one_and_written_nowhere() -> None:
    schedule = make_schedule(calendar=make_calendar())
    told: Any = shown(f"schedules/{schedule.pk}/preview/?cron=0 5 * * *&count=2")
    assert [fire["at"][11:] for fire in told["present"]["fires"]] == ["02:00:00Z"] * 2
    assert [fire["at"][11:] for fire in told["changed"]["fires"]] == ["05:00:00Z"] * 2
    assert Schedule.objects.get().cron == "0 2 * * *"


def test_a_schedule_of_which_no_change_is_asked_tells_its_next_fires() -> None:
    schedule = make_schedule()
    told: Any = shown(f"schedules/{schedule.pk}/preview/")
    assert (len(told["present"]["fires"]), told["changed"]) == (5, None)


def test_an_excluded_date_is_remarked_of_a_schedule_with_another_calendar() -> None:
    schedule, tomorrow = make_schedule(), (database_now() + DAY).date()
    calendar = make_calendar(tomorrow.isoformat(), titles="Inventory")
    told: Any = shown(f"schedules/{schedule.pk}/preview/?calendar={calendar.name}")
    assert not any(fire["remark"] for fire in told["present"]["fires"])
    assert "Inventory" in " ".join(fire["remark"] for fire in told["changed"]["fires"])


def test_a_schedule_that_cannot_be_read_any_more_says_so_beside_its_correction() -> None:
    schedule = make_schedule()
    Schedule.objects.filter(pk=schedule.pk).update(timezone="Europe/Berlim", next_run_at=None)
    told: Any = shown(f"schedules/{schedule.pk}/preview/?timezone=Europe/Berlin")
    assert "Europe/Berlim" in told["present"]["fault"]
    assert told["present"]["fires"] == []
    assert len(told["changed"]["fires"]) == 5


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("cron=61 * * * *", "cron"),
        ("cron=@daily&timezone=Mars", "timezone"),
        ("cron=@daily&count=0", "count"),
        ("cron=@daily&count=51", "count"),
        ("cron=@daily&calendar=nothing", "calendar"),
        ("cron=@daily&zone=UTC", "zone"),
        ("trigger=once", "once_at"),
        ("", "cron"),
    ],
)
def test_a_preview_of_what_cannot_be_read_says_what_is_wrong(query: str, field: str) -> None:
    assert fields_refused(chiefs_program().get(f"schedules/preview/?{query}")) == {field}


def test_why_tells_of_an_instant_and_of_the_schedule_as_it_stands() -> None:
    schedule, at = make_schedule(now=database_now()), database_now() - timedelta(hours=3)
    fire = make_fire(schedule, fire_at=at)
    assert shown(f"schedules/{schedule.pk}/why/")["situation"] == "to_come"
    told: Any = shown(f"schedules/{schedule.pk}/why/?at={at.isoformat().replace('+00:00', 'Z')}")
    assert told["situation"] == "overlap_in_progress"
    assert {"kind": "fire", "id": fire.pk} in told["rows"]


@pytest.mark.parametrize("query", ["at=soon", "at=9999-12-31T23:59:59Z", "at=0001-01-01T00:00:00Z", "when=now"])
def test_why_of_what_is_no_instant_is_refused(query: str) -> None:
    response = chiefs_program().get(f"schedules/{make_schedule().pk}/why/?{query}")
    assert fields_refused(response) == {query.partition("=")[0]}
