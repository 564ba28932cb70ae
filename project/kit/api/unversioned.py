"""Rows that people edit and that have no version of their own: theirs is told by what they say."""

from datetime import datetime
from typing import Any

from django.db.models import Model
from rest_framework import serializers

from project.kit.api.resources import Creating, Patching
from project.kit.api.serializers import RowSerializer
from project.kit.versions import StaleVersion, column_value, version_of


class SaidSerializer(RowSerializer):
    """A row whose version is told by what it says: it is another one whenever that is."""

    version = serializers.SerializerMethodField()

    def get_version(self, row: Model) -> int:
        """Return the version."""
        return version_of(row)


class Editing(Creating, Patching):
    """Rows that people add and change, and that follow no rule but their own."""

    def add(self, values: dict[str, Any], *, actor: str, now: datetime) -> Model:
        """Insert a row."""
        row: Model = self.get_queryset().model(**values)
        row.full_clean()
        row.save(force_insert=True)
        return row

    def change(self, row: Model, *, expected_version: int, now: datetime) -> list[str]:
        """Write what changed of a row."""
        current = type(row)._default_manager.select_for_update().get(pk=row.pk)
        if version_of(current) != expected_version:
            raise StaleVersion(current)
        row.full_clean()
        row.save()
        return [name for name in _columns(row) if column_value(row, name) != column_value(current, name)]


def _columns(row: Model) -> list[str]:
    return [column.name for column in row._meta.concrete_fields]
