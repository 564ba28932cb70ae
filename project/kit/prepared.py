"""Statements that are sent often: planned once a session, because planning costs PostgreSQL more than executing them.

By SQL's own PREPARE and EXECUTE, under a name made of the text. A pooler that lends a session for one transaction
(PgBouncer) may lend one that lacks the statement, or has it from another client: then it is the same statement, or
an error, upon which statements are sent as they are.
"""

import hashlib
import logging
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from django.db import DatabaseError, connection
from django.db.backends.utils import CursorWrapper
from psycopg.errors import DuplicatePreparedStatement, InvalidSqlStatementName

logger = logging.getLogger(__name__)

_prepared: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()  # by session, the names of what it has
_sessions_are_lent = False


class Statement:
    """One statement with `%s` for its values, all of them of types that their places tell."""

    def __init__(self, text: str) -> None:
        self.text = text
        count = text.count("%s")
        self._name = f"tideline_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        self._prepare = f"PREPARE {self._name} AS {text % tuple(f'${number + 1}' for number in range(count))}"
        self.call = f"EXECUTE {self._name} ({', '.join(['%s'] * count)})"

    def execute(self, cursor: CursorWrapper, values: Sequence[Any]) -> None:
        """Execute it; within a transaction as it is, since an error there would spoil what went before."""
        execute_together(cursor, (self, values))

    def prepare_once(self, cursor: CursorWrapper) -> None:
        """Have the cursor's session know it by its name."""
        names = _prepared.setdefault(connection.connection, set())
        if self._name in names:
            return
        try:
            cursor.execute(self._prepare)
        except DatabaseError as error:
            if not isinstance(error.__cause__, DuplicatePreparedStatement):
                raise
        names.add(self._name)


def execute_together(cursor: CursorWrapper, *calls: tuple[Statement, Sequence[Any]]) -> None:
    """Execute statements, each with its values, in one round trip and one transaction: all of them or none.

    The cursor has the rows of the first; its `nextset` leads on to those of the next.
    """
    values = [value for _, own in calls for value in own]
    as_they_are = "; ".join(statement.text for statement, _ in calls)
    if _sessions_are_lent or connection.in_atomic_block:
        cursor.execute(as_they_are, values)
        return
    for statement, _ in calls:
        statement.prepare_once(cursor)
    try:
        cursor.execute("; ".join(statement.call for statement, _ in calls), values)
    except DatabaseError as error:
        if not isinstance(error.__cause__, InvalidSqlStatementName):
            raise
        _prepare_no_more()
        cursor.execute(as_they_are, values)


def _prepare_no_more() -> None:
    global _sessions_are_lent  # noqa: PLW0603 - a fact about the process's way to the database
    _sessions_are_lent = True
    logger.info("sessions are lent by a pooler: statements are not prepared")
