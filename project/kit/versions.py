"""Rows with a `version`: who saves over a newer one is refused."""

from typing import Any

from django.db.models import Model
from django.utils.translation import gettext as _


class StaleVersion(Exception):
    """Somebody else saved the row meanwhile; `current` is what it is now."""

    def __init__(self, current: Any) -> None:
        super().__init__(
            _("“%(current)s” was changed by somebody else meanwhile. Look at it and save again.") % {"current": current}
        )
        self.current = current


def column_value(row: Model, name: str) -> Any:
    """Return a field's value as its column holds it, without fetching what it refers to."""
    return row._meta.get_field(name).value_from_object(row)  # type: ignore[union-attr]
