"""When a trigger fires next: of an expression that is thought of, or of a schedule beside a change of it."""

from collections.abc import Mapping
from copy import copy
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from rest_framework import serializers

from project.kit.api.serializers import Instant, RowSerializer
from scheduler import cron, schedules
from scheduler.admin.schedule_page import PREVIEWED_FIELDS
from scheduler.admin.triggers import UPCOMING, remarked_times, trigger_in_words
from scheduler.api.calendars import NO_CALENDAR
from scheduler.cron import TriggerError
from scheduler.models import Calendar, Schedule

MOST_FIRES = 50


class TriggerSerializer(RowSerializer):
    """A trigger that is thought of. Of a schedule, what is left out stays as it is."""

    calendar = serializers.SlugRelatedField(
        slug_field="name",
        queryset=Calendar.objects.all(),
        required=False,
        help_text="The name of a calendar of excluded dates.",
        error_messages=NO_CALENDAR,
    )
    count = serializers.IntegerField(
        min_value=1, max_value=MOST_FIRES, default=UPCOMING, help_text="How many fires are told."
    )

    class Meta:
        model = Schedule
        fields = (*schedules.TRIGGER_FIELDS, "calendar", "on_excluded", "quiet_from", "quiet_until", "count")


class FireToComeSerializer(serializers.Serializer[Any]):
    """A due time to come."""

    at = Instant()
    local = serializers.CharField(help_text="The same by the clocks of the schedule's zone, ISO with its offset.")
    remark = serializers.CharField(
        help_text="That the clocks change there, that the date is excluded, or that quiet hours put it off."
    )


class PreviewSerializer(serializers.Serializer[Any]):
    """When a trigger fires next."""

    words = serializers.CharField(help_text="The trigger as a sentence.")
    timezone = serializers.CharField()
    fires = FireToComeSerializer(many=True)
    remarks = serializers.ListField(child=serializers.CharField(), help_text="What is worth knowing of the trigger.")
    fault = serializers.CharField(help_text="Why it fires no more: it cannot be read. Else empty.")


class ComparisonSerializer(serializers.Serializer[Any]):
    """When a schedule fires next, and when it would after a change."""

    present = PreviewSerializer()
    changed = PreviewSerializer(allow_null=True, help_text="Null: no change was asked about.")


def of_trigger(said: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Return when a trigger would fire.

    Raises:
        ValidationError: it cannot be read; each sentence says which field is wrong.
    """
    return _of_draft(Schedule(), said, now)


def of_schedule(schedule: Schedule, said: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Return when the schedule fires next and, where a change is asked about, when it would after that.

    Raises:
        ValidationError: as `of_trigger`, of the change.
    """
    changed = said.keys() - {"count"}
    return {
        "present": _of_stored(schedule, _count(said), now),
        "changed": _of_draft(copy(schedule), said, now) if changed else None,
    }


def _of_stored(schedule: Schedule, count: int, now: datetime) -> dict[str, Any]:
    try:
        return _told(schedule, count, now)
    except TriggerError as error:
        return {"words": "", "timezone": schedule.timezone, "fires": [], "remarks": [], "fault": str(error)}


def _of_draft(draft: Schedule, said: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    for name in said.keys() - {"count"}:
        setattr(draft, name, said[name])
    try:
        schedules.prepare(draft, now=now)
    except ValidationError as refusal:
        faults = {name: told for name, told in refusal.message_dict.items() if name in PREVIEWED_FIELDS}
        if faults:
            raise ValidationError(faults) from refusal
    return _told(draft, _count(said), now)


def _told(schedule: Schedule, count: int, now: datetime) -> dict[str, Any]:
    trigger, place = schedule.as_trigger(), cron.zone(schedule.timezone)
    return {
        "words": trigger_in_words(trigger),
        "timezone": schedule.timezone,
        "fires": [
            {"at": instant, "local": instant.astimezone(place).isoformat(), "remark": remark}
            for instant, remark in remarked_times(schedule, trigger, now, count).items()
        ],
        "remarks": cron.remarks(trigger),
        "fault": "",
    }


def _count(said: Mapping[str, Any]) -> int:
    count: int = said.get("count", UPCOMING)
    return count
