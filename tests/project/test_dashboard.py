"""The home page: its numbers are those of the lists behind them."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from project.beat import SCANS
from project.dashboard import CAP
from project.kit.clock import database_now
from project.scans import mark
from scheduler.models import Pause, Schedule, TaskRun
from scheduler.states import RunState
from tests.panel import chief, listed, queries_of, text_of
from tests.scheduler.admin.desk import person
from tests.scheduler.factories import HOUR, MINUTE, SECOND, make_run, make_schedule

pytestmark = pytest.mark.django_db

HOME = reverse("admin:index")


def make_everything() -> None:
    """Insert runs in every state, and schedules of every standing."""
    now = database_now()
    for state in RunState:
        make_run(state, now=now - SECOND)
    make_run(RunState.FAILED, now=now - SECOND, ended=True, reason="It broke.")
    make_run(RunState.FAILED, now=now, due_at=now + HOUR)
    make_run(RunState.RUNNING, now=now, lease_expires_at=now - SECOND)
    make_run(RunState.PENDING, now=now, due_at=now - HOUR)
    held = make_run(RunState.PAUSED, now=now)
    Pause.objects.create(run=held, since=now, held=Pause.Held.AGREEMENT)
    make_schedule(now=now, name="soon")
    make_schedule(due=now - 5 * MINUTE)
    make_schedule(now=now, enabled=False)
    Schedule.objects.filter(pk=make_schedule(now=now).pk).update(next_run_at=None, broken_reason="No such zone.")


def test_every_number_is_that_of_the_list_behind_it() -> None:
    make_everything()
    client = chief()
    home = client.get(HOME).context["home"]
    tiles = [*home["trouble"], *home["unfinished"], home["done"], *home["schedules"]]
    assert {tile.label: tile.count for tile in tiles} == {
        tile.label: len(listed(client.get(tile.url))) for tile in tiles
    }
    assert all(tile.count for tile in tiles)


def test_home_asks_as_often_for_many_rows_as_for_few() -> None:
    make_everything()
    few = len(queries_of(HOME))
    for _ in range(5):
        make_everything_again()
    assert len(queries_of(HOME)) == few


def make_everything_again() -> None:
    """Insert the same once more, under other names."""
    Schedule.objects.filter(name="soon").update(name=f"soon {Schedule.objects.count()}")
    make_everything()


def test_a_number_that_is_large_is_not_counted_to_its_end() -> None:
    now = database_now()
    TaskRun.objects.bulk_create(
        TaskRun(name="x", job="x", stat_date=now.date(), planned_at=now, created_at=now, due_at=now - HOUR)
        for _ in range(CAP + 5)
    )
    overdue = next(tile for tile in chief().get(HOME).context["home"]["trouble"] if tile.label == "overdue")
    assert overdue.shown == f"{CAP:,}+"


def test_home_says_which_scan_is_missing() -> None:
    first, *others = SCANS
    for name in others:
        mark(name, by="a worker", note="")
    text = text_of(chief().get(HOME))
    assert f"{first} missing never" in text
    assert text.count("recent") == len(others)


def test_who_may_see_nothing_is_shown_no_number() -> None:
    make_everything()
    client = person()
    for permission in ("view_taskrun", "view_schedule"):
        client_user(client).user_permissions.remove(permission_of(permission))
    text = text_of(client.get(HOME))
    assert "It broke." not in text
    assert "soon" not in text


def client_user(client: Client) -> User:
    """Return the user that the client is logged in as."""
    return User.objects.get(pk=client.session["_auth_user_id"])


def permission_of(codename: str) -> Permission:
    """Return the scheduler's permission of that name."""
    return Permission.objects.get(content_type__app_label="scheduler", codename=codename)
