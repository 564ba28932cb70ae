"""Rows with a version, as whoever changes one finds them."""

from collections.abc import Iterable
from typing import Any, TypeVar

from django.db.models import Model

from project.kit.secrets import Secret
from project.kit.versions import StaleVersion, column_value
from scheduler.polling.models import CarrierAccount, PollingTier

Row = TypeVar("Row", CarrierAccount, PollingTier)


def current_row(row: Row, expected_version: int) -> Row:
    """Return the row as it is, locked.

    Raises:
        StaleVersion: it is another version.
    """
    current = type(row)._default_manager.select_for_update().get(pk=row.pk)
    if current.version != expected_version:
        raise StaleVersion(current)
    return current


def changed_fields(row: Model, current: Model, names: Iterable[str]) -> list[str]:
    """Return those of the fields in which the row differs from what it is."""
    return [name for name in names if _value(row, name) != _value(current, name)]


def _value(row: Model, name: str) -> Any:
    return as_secret(column_value(row, name)) if name == "credentials" else column_value(row, name)


def as_secret(value: Any) -> Secret:
    """Return the value of the credentials' column as a secret, also before it was saved."""
    secret: Secret | None = CarrierAccount._meta.get_field("credentials").to_python(value)
    return secret or Secret.of("")
