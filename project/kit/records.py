"""What rows and messages keep is English, whoever made it come about: it is searched, compared and sent to many."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from django.utils import translation

P = ParamSpec("P")


def recorded(say: Callable[P, str]) -> Callable[P, str]:
    """Have a function that says what rows keep say it in English, in the request of a Chinese reader as well."""

    @wraps(say)
    def said(*args: P.args, **kwargs: P.kwargs) -> str:
        with translation.override("en"):
            return say(*args, **kwargs)

    return said
