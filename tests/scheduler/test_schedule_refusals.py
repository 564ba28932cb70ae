"""A field of a schedule that is wrong is refused at save, with a sentence at that field."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from pydantic import BaseModel

from scheduler import cron, schedules
from scheduler.models import Schedule
from tests.scheduler.factories import NOW, make_schedule, registered

pytestmark = pytest.mark.django_db

DAILY = cron.cron("0 2 * * *", "UTC")


def edit(schedule: Schedule, **changes: Any) -> list[str]:
    """Change a schedule as a form does: a fresh row, the changed fields, the version that was shown."""
    edited = Schedule.objects.get(pk=schedule.pk)
    for name, value in changes.items():
        setattr(edited, name, value)
    return schedules.save_changes(edited, expected_version=edited.version, now=NOW)


def faults_of(refusal: ValidationError) -> dict[str, str]:
    """Return the sentences by field."""
    return {field: " ".join(messages) for field, messages in refusal.message_dict.items()}


class PageParams(BaseModel):
    """Parameters of a job of these tests."""

    pages: int


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"name": ""}, "name", "blank"),
        ({"name": "taken"}, "name", "already exists"),
        ({"job": "test.gone"}, "job", "No job “test.gone” is registered here."),
        ({"params": {"pages": "many"}}, "params", "Parameter “pages”: Input should be a valid integer"),
        ({"params": {}}, "params", "Parameter “pages”: Field required."),
        ({"params": [1]}, "params", "JSON object"),
        ({"cron": "0 25 * * *"}, "cron", "hour field “25” is not between 0 and 23"),
        ({"cron": ""}, "cron", "Write five fields"),
        ({"timezone": "Berlin"}, "timezone", "Did you mean Europe/Berlin?"),
        ({"timezone": ""}, "timezone", "not known"),
        ({"trigger": "weekly"}, "trigger", "“weekly” is not known. There are cron, interval, once."),
        ({"trigger": "interval"}, "interval_seconds", "The interval is empty"),
        ({"trigger": "interval", "interval_seconds": 0}, "interval_seconds", "write 1 second to 10 years"),
        ({"trigger": "interval", "interval_seconds": 10**9}, "interval_seconds", "write 1 second to 10 years"),
        ({"trigger": "once"}, "once_at", "is missing"),
        ({"trigger": "once", "once_at": NOW}, "once_at", "lies in the past"),
        ({"overlap": "maybe"}, "overlap", "not a valid choice"),
        ({"on_interrupt": "panic"}, "on_interrupt", "not a valid choice"),
        ({"timeout_seconds": 0}, "timeout_seconds", "greater than or equal to 1"),
        ({"misfire_grace_seconds": -1}, "misfire_grace_seconds", "greater than or equal to 0"),
        ({"retry_delays": [60, -1]}, "retry_delays", "greater than or equal to 0"),
        ({"priority": 40_000}, "priority", "less than or equal to 32767"),
    ],
)
def test_a_field_that_is_wrong_is_refused_with_a_sentence_at_that_field(
    fields: dict[str, Any], field: str, sentence: str
) -> None:
    make_schedule(name="taken")
    with registered(lambda run: None, params=PageParams) as job:
        right: dict[str, Any] = {"name": "figures", "job": job, "params": {"pages": 1}, "cron": "0 2 * * *"}
        with pytest.raises(ValidationError) as refusal:
            schedules.save_new(Schedule(**right | fields), now=NOW)
        assert sentence in faults_of(refusal.value)[field]
        assert not Schedule.objects.filter(job=job).exists()

        existing = make_schedule(**right | {"name": "existing"})
        with pytest.raises(ValidationError) as refusal:
            edit(existing, **fields)
        assert sentence in faults_of(refusal.value)[field]
        assert Schedule.objects.get(pk=existing.pk).version == 1


def test_several_wrong_fields_are_all_named_at_once() -> None:
    with pytest.raises(ValidationError) as refusal:
        schedules.create(name="figures", job="test.gone", trigger=cron.Cron("nonsense", "UTC"), now=NOW)
    assert set(refusal.value.message_dict) == {"job", "cron"}


def test_the_same_origin_is_imported_once() -> None:
    schedules.create(name="one", job="test.noop", trigger=DAILY, now=NOW, origin="crontab:root:1")
    with pytest.raises(ValidationError) as refusal:
        schedules.create(name="two", job="test.noop", trigger=DAILY, now=NOW, origin="crontab:root:1")
    assert "origin" in refusal.value.message_dict
