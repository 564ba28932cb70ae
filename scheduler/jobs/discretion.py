"""The secrets among a run's parameters are masked in all that is kept of what it said: a server that fails may throw
back what it was sent, and a script may print what it was given.
"""

import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, SecretStr

from project.kit.secrets import DOTS

# Shorter ones would be found in texts that do not mean them.
SHORTEST_SECRET = 8


class Discretion:
    """Masks the secrets that some parameters hold, each as a whole and each of its words, as after `Bearer`."""

    def __init__(self, params: Any) -> None:
        found = {part for secret in _secrets(params) for part in (secret, *secret.split())}
        longest_first = sorted((part for part in found if len(part) >= SHORTEST_SECRET), key=len, reverse=True)
        self._secrets = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def __call__(self, text: str) -> str:
        """Return the text with dots in place of each secret."""
        return self._secrets.sub(DOTS, text) if self._secrets else text


def _secrets(value: Any) -> Iterator[str]:
    match value:
        case SecretStr():
            yield value.get_secret_value()
        case BaseModel():
            yield from _secrets(dict(value))
        case dict():
            for inner in value.values():
                yield from _secrets(inner)
        case list() | tuple():
            for inner in value:
                yield from _secrets(inner)
