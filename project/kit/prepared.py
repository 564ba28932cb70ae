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
        name = f"tideline_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        self._name = name
        self._prepare = f"PREPARE {name} AS {text % tuple(f'${number + 1}' for number in range(count))}"
        self._execute = f"EXECUTE {name} ({', '.join(['%s'] * count)})"

    def execute(self, cursor: CursorWrapper, values: Sequence[Any]) -> None:
        """Execute it; within a transaction as it is, since an error there would spoil what went before."""
        if _sessions_are_lent or connection.in_atomic_block:
            cursor.execute(self.text, values)
            return
        self._prepare_once(cursor)
        try:
            cursor.execute(self._execute, values)
        except DatabaseError as error:
            if not isinstance(error.__cause__, InvalidSqlStatementName):
                raise
            _prepare_no_more()
            cursor.execute(self.text, values)

    def _prepare_once(self, cursor: CursorWrapper) -> None:
        names = _prepared.setdefault(connection.connection, set())
        if self._name in names:
            return
        try:
            cursor.execute(self._prepare)
        except DatabaseError as error:
            if not isinstance(error.__cause__, DuplicatePreparedStatement):
                raise
        names.add(self._name)


def _prepare_no_more() -> None:
    global _sessions_are_lent  # noqa: PLW0603 - a fact about the process's way to the database
    _sessions_are_lent = True
    logger.info("sessions are lent by a pooler: statements are not prepared")
