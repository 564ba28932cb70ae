"""What stands where in a JSON document: JMESPath, and values as text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jmespath
from jmespath.exceptions import ArityError, JMESPathError, LexerError, ParseError, UnknownFunctionError
from jmespath.parser import ParsedResult

# Names with dots between them: most expressions are no more, and each answer is asked for many.
_NAMES = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")


class BadExpression(ValueError):
    """It is no JMESPath expression; the text is a sentence without its full stop."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A JMESPath expression, compiled once.

    Raises:
        BadExpression: it is none, or calls a function that there is not.
    """

    text: str
    _compiled: ParsedResult = field(init=False, repr=False, compare=False)
    _names: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compile it, and try it: a function that there is not shows only when it is called."""
        object.__setattr__(self, "_compiled", _compiled(self.text))
        object.__setattr__(self, "_names", tuple(self.text.split(".")) if _NAMES.fullmatch(self.text) else ())
        try:
            self._compiled.search({})
        except (UnknownFunctionError, ArityError) as error:
            raise BadExpression(f"A function in it cannot be called: {error}") from None
        except JMESPathError:
            pass  # it wanted something in the document

    def __call__(self, document: Any) -> Any:
        """Return what it finds, or None: nothing, or what it cannot calculate with."""
        if self._names:
            return _at(document, self._names)
        try:
            return self._compiled.search(document)
        except (JMESPathError, TypeError, ValueError):
            return None


def as_text(value: Any) -> str:
    """Return a text, a number or a truth value as carriers write it; empty for all else."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).strip() if isinstance(value, str | int | float) else ""


def _at(document: Any, names: Sequence[str]) -> Any:
    """Return what stands below the names, as JMESPath says it."""
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def _compiled(text: str) -> ParsedResult:
    try:
        return jmespath.compile(text)
    except LexerError as error:
        raise _unreadable(error.lexer_position) from None
    except ParseError as error:
        raise _unreadable(error.lex_position) from None
    except (JMESPathError, RecursionError):
        raise _unreadable(0) from None


def _unreadable(position: int) -> BadExpression:
    return BadExpression(f"It is no JMESPath expression: it makes no sense from character {position + 1} on")
