"""Cards from CSV over HTTP: looked at line by line, and written all together or not at all."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import IntegrityError
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from project.kit.api.problems import Conflict
from scheduler.polling.fleet.importing import COLUMNS, Fate, Plan, UnusableFile, carry_out, plan

# That are written while somebody waits for the answer.
MOST_LINES = 10_000


class ImportSerializer(serializers.Serializer[Any]):
    """A file, and what is to be done with it."""

    csv = serializers.CharField(
        trim_whitespace=False,
        help_text=f"The text of the file. Its first line names the columns: {', '.join(COLUMNS)}.",
    )
    dry_run = serializers.BooleanField(default=False, help_text="Only tell what becomes of each line.")
    update = serializers.BooleanField(  # type: ignore[assignment]  # the field, not the method
        default=False, help_text="Change cards that are there already."
    )
    skip_bad = serializers.BooleanField(default=False, help_text="Leave bad lines out, and write the others.")


class LineSerializer(serializers.Serializer[Any]):
    """What becomes of a line."""

    line = serializers.IntegerField(help_text="In the file, from 1; the line of the column names counts.")
    iccid = serializers.CharField()
    fate = serializers.ChoiceField(choices=[str(fate) for fate in Fate])
    faults = serializers.ListField(child=serializers.CharField(), help_text="Why it is bad, a sentence each.")


class ReportSerializer(serializers.Serializer[Any]):
    """What became of each line."""

    written = serializers.BooleanField()
    counts = serializers.DictField(child=serializers.IntegerField())
    lines = LineSerializer(many=True)


def read(body: Any) -> dict[str, Any]:
    """Return what the body of a request says.

    Raises:
        ValidationError: a field is wrong.
    """
    said = ImportSerializer(data=body)
    said.is_valid(raise_exception=True)
    values: dict[str, Any] = said.validated_data
    return values


def looked_at(said: Mapping[str, Any]) -> Plan:
    """Return what becomes of each line.

    Raises:
        ValidationError: the file as a whole cannot be read, or is too long.
    """
    if said["csv"].count("\n") > MOST_LINES:
        words = _("Send at most %(most)s lines at once; longer files are for manage.py import_cards.")
        raise ValidationError({"csv": words % {"most": f"{MOST_LINES:,}"}})
    try:
        return plan(said["csv"].encode(), update=said["update"])
    except UnusableFile as error:
        raise ValidationError({"csv": str(error)}) from error


def is_to_be_written(planned: Plan, said: Mapping[str, Any]) -> bool:
    """Tell whether the cards are written: not of a dry run, nor where a bad line is in the way."""
    return not said["dry_run"] and (said["skip_bad"] or not planned.counts[Fate.BAD])


def write(planned: Plan, *, now: datetime) -> None:
    """Write the cards.

    Raises:
        Conflict: somebody else wrote one of them meanwhile. Nothing was written.
    """
    try:
        carry_out(planned, now=now)
    except IntegrityError as error:
        raise Conflict(
            _("Somebody else wrote one of the cards meanwhile. Nothing was written: send it again.")
        ) from error
