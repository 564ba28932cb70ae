"""The control panel's site: its order, beat's rows, the audit log."""

import pytest
from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.urls import reverse
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from project.beat import SCANS
from project.scans import mark
from tests.panel import chief, text_of

pytestmark = pytest.mark.django_db


def test_what_is_looked_at_daily_comes_first() -> None:
    apps = chief().get(reverse("admin:index")).context["app_list"]
    assert [app["app_label"] for app in apps] == [
        "scheduler",
        "polling",
        "alerts",
        "quotas",
        "project",
        "django_celery_beat",
        "auth",
        "admin",
    ]
    names = [model["object_name"] for model in apps[0]["models"]]
    assert names == [
        "Schedule",
        "TaskRun",
        "Approval",
        "Backfill",
        "Fire",
        "Attempt",
        "RunEvent",
        "Calendar",
        "CalendarDay",
    ]
    names = [model["object_name"] for model in apps[2]["models"]]
    assert names == ["Alert", "Channel", "Delivery", "Silence"]


def test_beats_rows_are_shown_and_nothing_is_offered_with_them() -> None:
    every = IntervalSchedule.objects.create(every=1, period="seconds")
    task = PeriodicTask.objects.create(name="fire due schedules", task="scheduler.fire_due", interval=every)
    client = chief()
    address = reverse("admin:django_celery_beat_periodictask_changelist")
    response = client.get(address)
    assert "fire due schedules scheduler.fire_due every second" in text_of(response)
    assert response.context["action_form"] is None
    assert client.get(f"{address}add/").status_code == 403
    page = reverse("admin:django_celery_beat_periodictask_change", args=[task.pk])
    assert client.get(page).status_code == 200
    assert client.post(page, {"name": "mine"}).status_code == 403
    assert not admin.site.is_registered(IntervalSchedule)


def test_the_scans_and_the_audit_log_are_lists_to_read() -> None:
    for name in SCANS:
        mark(name, by="a worker")
    user = User.objects.create_user("ada")
    LogEntry.objects.create(user=user, object_repr="#7", action_flag=CHANGE, change_message="Cancel run: no use")
    client = chief()
    scans = client.get(reverse("admin:project_scanmark_changelist"))
    assert all(name in text_of(scans) for name in SCANS)
    log = client.get(reverse("admin:admin_logentry_changelist"))
    assert "ada #7" in text_of(log)
    assert "Cancel run: no use" in text_of(log)
    assert client.get(reverse("admin:admin_logentry_changelist") + "add/").status_code == 403


def test_each_style_sheet_and_script_is_asked_for_once() -> None:
    page = chief().get(reverse("admin:index")).content.decode()
    assert page.count("tideline/admin.css") == page.count("tideline/admin.js") == 1
