"""Somebody else was first: between a look and the write that builds on it, a row went or came."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.core.exceptions import ObjectDoesNotExist
from django.db import IntegrityError

P = ParamSpec("P")
R = TypeVar("R")


def looking_again(*refusals: type[Exception]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let what does all or nothing begin once more where a row that it saw is gone, or one that it makes is there.

    The second look finds what there is by now, and refuses it in the words in which that is always refused. What fails
    again was overtaken by nobody: it is a fault of ours, and raised.

    Args:
        refusals: what tells the same beside the database's own errors, where all that was written had been looked at.
    """

    overtaken: tuple[type[Exception], ...] = (ObjectDoesNotExist, IntegrityError, *refusals)

    def decorate(act: Callable[P, R]) -> Callable[P, R]:
        @wraps(act)
        def acting(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return act(*args, **kwargs)
            except overtaken:
                return act(*args, **kwargs)

        return acting

    return decorate
