"""Excluded dates from elsewhere, over HTTP: as `manage.py import_calendar`, of a text instead of a file."""

from datetime import date, datetime
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from scheduler.importing.calendars import Plan, Source, UnusableSource, from_content, from_country, plan

YEARS_AHEAD = 5
MOST_YEARS = 20
FIRST_YEAR, LAST_YEAR = 1970, 2200
LONGEST_NAME = 200


class CalendarImportSerializer(serializers.Serializer[Any]):
    """Which dates go into which calendar: of a file, or of a country."""

    calendar = serializers.CharField(max_length=LONGEST_NAME, help_text="Its name. It is made if there is none.")
    ics = serializers.CharField(
        required=False, trim_whitespace=False, help_text="The text of an iCalendar file: its whole days."
    )
    country = serializers.CharField(required=False, help_text="The public holidays of this country, as DE.")
    subdivision = serializers.CharField(required=False, help_text="Of this part of the country, as BY.")
    first_year = serializers.IntegerField(
        required=False, min_value=FIRST_YEAR, max_value=LAST_YEAR, help_text="Left out: this year."
    )
    last_year = serializers.IntegerField(
        required=False, min_value=FIRST_YEAR, max_value=LAST_YEAR, help_text="Left out: four years after the first."
    )
    dry_run = serializers.BooleanField(default=False, help_text="Only tell what becomes of each date.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse what names no source, or two.

        Raises:
            ValidationError: it does.
        """
        if ("ics" in attrs) == ("country" in attrs):
            raise ValidationError({"ics": _("Send either a file or a country.")})
        if "subdivision" in attrs and "country" not in attrs:
            raise ValidationError({"subdivision": _("It is a part of a country. Name that, too.")})
        return attrs


class CalendarReportSerializer(serializers.Serializer[Any]):
    """What became of the dates, each with its title."""

    written = serializers.BooleanField()
    calendar = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]  # the field, not where it comes from
    new = serializers.DictField(child=serializers.CharField())
    present = serializers.DictField(child=serializers.CharField(), help_text="They were there already.")
    others = serializers.DictField(child=serializers.CharField(), help_text="Not in this source. They stay.")
    left_out = serializers.ListField(
        child=serializers.CharField(), help_text="Events that are no whole days, or are cancelled."
    )


def read(body: Any) -> dict[str, Any]:
    """Return what the body of a request says.

    Raises:
        ValidationError: a field is wrong.
    """
    said = CalendarImportSerializer(data=body)
    said.is_valid(raise_exception=True)
    values: dict[str, Any] = said.validated_data
    return values


def planned(said: dict[str, Any], now: datetime) -> Plan:
    """Return what becomes of each date; nothing is written.

    Raises:
        ValidationError: the source cannot be read, or has no such dates.
    """
    years = _years(said, now)
    try:
        return plan(said["calendar"], _source(said, years), years)
    except UnusableSource as error:
        raise ValidationError({"ics" if "ics" in said else "country": str(error)}) from error


def report(of: Plan, *, written: bool) -> dict[str, Any]:
    """Return what became of each date, as the API shows it."""
    return {
        "written": written,
        "calendar": of.calendar,
        "source": of.source.name,
        "new": _by_date(of.new),
        "present": _by_date(of.present),
        "others": _by_date(of.others),
        "left_out": list(of.source.left_out),
    }


def _years(said: dict[str, Any], now: datetime) -> range:
    first = said.get("first_year", now.year)
    last = said.get("last_year", min(first + YEARS_AHEAD - 1, LAST_YEAR))
    if not first <= last < first + MOST_YEARS:
        words = _("Ask for 1 to %(most)s years at once: %(first)s to %(last)s are not.")
        raise ValidationError({"last_year": words % {"most": MOST_YEARS, "first": first, "last": last}})
    return range(first, last + 1)


def _source(said: dict[str, Any], years: range) -> Source:
    if "ics" in said:
        return from_content(said["ics"].encode(), _("the file"), years)
    return from_country(said["country"], said.get("subdivision"), years)


def _by_date(days: dict[date, str]) -> dict[str, str]:
    return {day.isoformat(): title for day, title in days.items()}
