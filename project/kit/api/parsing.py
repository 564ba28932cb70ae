"""Reads bodies: JSON, of bounded size, and nothing that no column could hold."""

import json
from collections.abc import Iterator, Mapping
from typing import IO, Any, NoReturn

from django.utils.translation import gettext as _
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class JsonBody(JSONParser):
    """Parses a JSON body."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """Return what the body says.

        Raises:
            ParseError: it is no JSON, or holds what cannot be stored; the sentence says where.
            RequestDataTooBig: it is longer than DATA_UPLOAD_MAX_MEMORY_SIZE.
        """
        # The stream's length is bounded by nobody, the body's is.
        body: bytes = (parser_context or {})["request"].body
        try:
            said = json.loads(body.decode(), parse_constant=_refuse_constant)
            _refuse_unstorable(said)
        except json.JSONDecodeError as error:
            place = {"line": error.lineno, "column": error.colno}
            raise ParseError(_("The body is not JSON. Look at line %(line)s, column %(column)s.") % place) from None
        except UnicodeError:
            raise ParseError(_("The body is not UTF-8, or names half a character as \\ud800 does.")) from None
        except (RecursionError, ValueError):
            raise ParseError(_("The body nests too deeply, or holds a number that is too long.")) from None
        return said


def _refuse_constant(name: str) -> NoReturn:
    raise ParseError(_("“%(name)s” is no JSON. Leave the field out, or write null.") % {"name": name})


def _refuse_unstorable(said: Any) -> None:
    for text in _texts(said):
        if "\x00" in text:
            raise ParseError(_("A text holds the character \\u0000, which cannot be stored. Leave it out."))
        text.encode()


def _texts(said: Any) -> Iterator[str]:
    match said:
        case str():
            yield said
        case list():
            for item in said:
                yield from _texts(item)
        case dict():
            for name, item in said.items():
                yield name
                yield from _texts(item)
