"""What a carrier answered."""

import codecs
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn


class NoDocument(ValueError):
    """The body is no JSON."""


@dataclass(frozen=True)
class Answer:
    """Status, headers by lower-case names, and the whole body. Its text shows none of the latter."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    charset: str = ""

    def text(self) -> str:
        """Return the body as text: as the answer says, else UTF-8, else ISO-8859-1, which reads anything."""
        for charset in (self.charset, "utf-8-sig"):
            if text := _decoded(self.body, charset):
                return text
        return self.body.decode("iso-8859-1")

    @cached_property
    def document(self) -> Any:
        """What the JSON says.

        Raises:
            NoDocument: the body is none.
        """
        try:
            return _DECODER.decode(self.text())
        except (ValueError, RecursionError):
            raise NoDocument from None


def _decoded(body: bytes, charset: str) -> str:
    """Return the text, or nothing where the charset is unknown or not that of the body."""
    try:
        return body.decode(codecs.lookup(charset).name) if charset else ""
    except (LookupError, ValueError):
        return ""


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)
