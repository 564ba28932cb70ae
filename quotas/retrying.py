"""Whoever lost to another transaction tries again: at the isolation levels above READ COMMITTED, and in a deadlock, the
database undoes one of the two as a whole.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import OperationalError, connection
from psycopg.errors import DeadlockDetected, SerializationFailure

TRIES = 20

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def retried(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Repeat the function, which is one transaction, while another transaction is faster.

    Within a caller's transaction nothing is repeated: what he did before is undone as well, and only he can repeat it.
    """

    @wraps(function)
    def repeating(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        for _ in range(TRIES - 1):
            try:
                return function(*args, **kwargs)
            except OperationalError as error:
                if connection.in_atomic_block or not isinstance(
                    error.__cause__, SerializationFailure | DeadlockDetected
                ):
                    raise
        return function(*args, **kwargs)

    return repeating
