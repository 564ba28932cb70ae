"""What a probe is, and whether it can work: pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx
import jmespath
from django.utils.translation import gettext as _
from jmespath.exceptions import ArityError, JMESPathError, LexerError, ParseError, UnknownFunctionError
from jmespath.parser import ParsedResult

HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@dataclass(frozen=True, slots=True)
class ProbeSpec:
    """Whom to ask, and where in the JSON of the answer the figures stand. Its text shows neither URL nor headers, for
    they may hold secrets.

    Attributes:
        remaining, limit, reset: JMESPath expressions, empty where there is none. Without any of them it is the
            headers of the answer that say it.
    """

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    remaining: str = ""
    limit: str = ""
    reset: str = ""

    @property
    def server(self) -> str:
        """The address without what may be secret: user, path and query."""
        try:
            address = urlsplit(self.url)
        except ValueError:
            return "The usage endpoint"
        return f"{address.scheme}://{address.netloc.rpartition('@')[2]}"

    @property
    def expressions(self) -> dict[str, str]:
        """The expressions that there are, by the name of their field."""
        given = {"remaining": self.remaining, "limit": self.limit, "reset": self.reset}
        return {name: expression for name, expression in given.items() if expression}


def check_probe(spec: ProbeSpec) -> dict[str, str]:
    """Return a sentence for each field that cannot work, by its name: url, headers, remaining, limit or reset."""
    found = {"url": _trouble_with_url(spec.url), "headers": _trouble_with_headers(spec.headers)}
    found |= {name: _trouble_with_expression(expression) for name, expression in spec.expressions.items()}
    return {name: sentence for name, sentence in found.items() if sentence}


def _trouble_with_url(url: str) -> str:
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL:
        return _("The usage endpoint cannot be read as a URL; it looks like https://example.com/usage.")
    if address.scheme not in ("http", "https") or not address.host:
        return _("The usage endpoint must begin with http:// or https:// and name a host.")
    return ""


def _trouble_with_headers(headers: Mapping[str, str]) -> str:
    """Return what is wrong, with names and never with values."""
    if not isinstance(headers, Mapping):
        return _("The headers must be names with values, such as Authorization with its token.")
    for name, value in headers.items():
        if not HEADER_NAME.fullmatch(name):
            return _("“%(name)s” cannot be the name of a header.") % {"name": name}
        if not isinstance(value, str) or not value.isascii() or not value.isprintable():
            return _("The value of the header %(name)s must be printable ASCII on one line.") % {"name": name}
    return ""


def _trouble_with_expression(expression: str) -> str:
    try:
        compiled = jmespath.compile(expression)
    except LexerError as error:
        return _unreadable(error.lexer_position)
    except ParseError as error:
        return _unreadable(error.lex_position)
    except (JMESPathError, RecursionError):
        return _unreadable(0)
    return _trouble_with_functions(compiled)


def _unreadable(position: int) -> str:
    return _("It is no JMESPath expression: it makes no sense from character %(number)s on.") % {"number": position + 1}


def _trouble_with_functions(compiled: ParsedResult) -> str:
    """Return what is wrong with the functions that are called; that shows only when they are."""
    try:
        compiled.search({})
    except (UnknownFunctionError, ArityError) as error:
        return _("A function in the JMESPath expression cannot be called: %(why)s.") % {"why": error}
    except JMESPathError:
        return ""  # they wanted something in the document
    return ""
