"""Statements that are sent often: planned once a session, because planning costs PostgreSQL more than executing them.

By SQL's own PREPARE and EXECUTE, under a name made of the text. A pooler that lends a session for one transaction
(PgBouncer) may lend one that lacks the statement, or has it from another client: then it is the same statement, or
an error, upon which statements are sent as they are.
"""

import hashlib
import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from django.db import DatabaseError
from django.db.backends.utils import CursorWrapper
from psycopg.errors import DuplicatePreparedStatement, InvalidSqlStatementName

logger = logging.getLogger(__name__)

_prepared: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()  # by session, the names of what it has
_sessions_are_lent = False

Values = Sequence[Any] | Mapping[str, Any]
_PLACE = re.compile(r"%(?:\((\w+)\))?s")


class Statement:
    """One statement with a place for each of its values, all of them of types that their places tell.

    The places are `%s` throughout, for values in that order, or `%(name)s` throughout, for values by name. One that is
    named in several places is sent once.
    """

    def __init__(self, text: str) -> None:
        self._places: list[Any] = [name or number for number, name in enumerate(_PLACE.findall(text))]
        self._order = list(dict.fromkeys(self._places))
        self.text = _PLACE.sub("%s", text)
        self._name = f"tideline_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        numbers = tuple(f"${self._order.index(place) + 1}" for place in self._places)
        self._prepare = f"PREPARE {self._name} AS {self.text % numbers}"
        self.call = f"EXECUTE {self._name} ({', '.join(['%s'] * len(self._order))})"

    def execute(self, cursor: CursorWrapper, values: Values) -> None:
        """Execute it; within a transaction as it is, since an error there would spoil what went before."""
        execute_together(cursor, (self, values))

    def values_of_call(self, values: Values) -> list[Any]:
        """Return the values as `call` takes them: each once."""
        return [values[place] for place in self._order]

    def values_of_text(self, values: Values) -> list[Any]:
        """Return the values as `text` takes them: one a place."""
        return [values[place] for place in self._places]

    def prepare_once(self, cursor: CursorWrapper) -> None:
        """Have the cursor's session know it by its name."""
        names = _prepared.setdefault(cursor.db.connection, set())
        if self._name in names:
            return
        try:
            cursor.execute(self._prepare)
        except DatabaseError as error:
            if not isinstance(error.__cause__, DuplicatePreparedStatement):
                raise
        names.add(self._name)


def execute_together(cursor: CursorWrapper, *calls: tuple[Statement, Values]) -> None:
    """Execute statements, each with its values, in one round trip and one transaction: all of them or none.

    The cursor has the rows of the first; its `nextset` leads on to those of the next.
    """
    if _sessions_are_lent or cursor.db.in_atomic_block:
        _execute_as_they_are(cursor, calls)
        return
    for statement, _ in calls:
        statement.prepare_once(cursor)
    try:
        cursor.execute(
            "; ".join(statement.call for statement, _ in calls),
            [value for statement, values in calls for value in statement.values_of_call(values)],
        )
    except DatabaseError as error:
        if not isinstance(error.__cause__, InvalidSqlStatementName):
            raise
        _prepare_no_more()
        _execute_as_they_are(cursor, calls)


def _execute_as_they_are(cursor: CursorWrapper, calls: Sequence[tuple[Statement, Values]]) -> None:
    cursor.execute(
        "; ".join(statement.text for statement, _ in calls),
        [value for statement, values in calls for value in statement.values_of_text(values)],
    )


def _prepare_no_more() -> None:
    global _sessions_are_lent  # noqa: PLW0603 - a fact about the process's way to the database
    _sessions_are_lent = True
    logger.info("sessions are lent by a pooler: statements are not prepared")
