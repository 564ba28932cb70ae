"""Rows by the million: one INSERT ... SELECT a table, its columns written as SQL over the row's number `n`."""

from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import AutoField, Field, Model


def insert(model: type[Model], count: int, *, now: datetime, **columns: str) -> None:
    """Insert rows whose key is their number `n`, from 1 to `count`.

    Args:
        now: what the expressions call `now`.
        columns: SQL by column; a column that is not named has its field's default, or null. `n % 3` is written
            `mod(n, 3)`.
    """
    values, parameters = [], []
    for field in model._meta.concrete_fields:
        expression = columns.pop(str(field.column), "n" if field.primary_key else "")
        values.append(expression or "%s")
        parameters += [] if expression else [_default(field)]
    assert not columns, f"{model.__name__} has no {', '.join(columns)}"
    names = ", ".join(f'"{field.column}"' for field in model._meta.concrete_fields)
    with connection.cursor() as cursor:
        cursor.execute(
            f'INSERT INTO "{model._meta.db_table}" ({names}) SELECT {", ".join(values)}'
            " FROM generate_series(1, %s) n, (SELECT %s::timestamptz AS now) moment",
            [*parameters, count, now],
        )
    _start_numbers_after(model)


def _start_numbers_after(model: type[Model]) -> None:
    """Let the next row be numbered after the highest that is there."""
    key = model._meta.pk
    if isinstance(key, AutoField):
        table = model._meta.db_table
        with connection.cursor() as cursor:
            cursor.execute(
                f'SELECT setval(pg_get_serial_sequence(%s, %s), max("{key.column}")) FROM "{table}"',
                [f'"{table}"', key.column],
            )


def _default(field: "Field[Any, Any]") -> Any:
    value = None if field.null and not field.has_default() else field.get_default()
    return field.get_db_prep_save(value, connection)


def one_of(*values: str, by: str = "n") -> str:
    """Return the SQL of a text that takes these values in turn."""
    listed = ", ".join(f"'{value}'" for value in values)
    return f"(ARRAY[{listed}])[1 + mod({by}, {len(values)})]"
