"""Versions of rows that people edit: who saves over a newer one is refused."""

from typing import Any
from zlib import crc32

from django.db.models import Model
from django.utils.translation import gettext as _


class StaleVersion(Exception):
    """Somebody else saved the row meanwhile; `current` is what it is now."""

    def __init__(self, current: Any) -> None:
        super().__init__(
            _("“%(current)s” was changed by somebody else meanwhile. Look at it and save again.") % {"current": current}
        )
        self.current = current


def version_of(row: Model) -> int:
    """Return the row's version; of a row without one, what tells it by what it says: another one whenever that is."""
    version: int | None = getattr(row, "version", None)
    return _told_by_content(row) if version is None else version


def _told_by_content(row: Model) -> int:
    said = "\n".join(str(column_value(row, column.name)) for column in row._meta.concrete_fields)
    return crc32(said.encode()) % 10**9  # as long as an ETag may be


def column_value(row: Model, name: str) -> Any:
    """Return a field's value as its column holds it, without fetching what it refers to."""
    return row._meta.get_field(name).value_from_object(row)  # type: ignore[union-attr]
