"""Sentences for people, one behind the other."""

from collections.abc import Iterable
from functools import reduce

from django.utils.translation import gettext as _


def together(*sentences: str) -> str:
    """Return sentences as one text, with what the language puts between them; empty ones are left out."""
    said = [sentence.strip() for sentence in sentences if sentence.strip()]
    return reduce(_behind, said) if said else ""


def closed(text: str) -> str:
    """Return what is said without a full stop as a sentence."""
    return _("%(text)s.") % {"text": text}


def enumerated(names: Iterable[str]) -> str:
    """Return names as people say them: `usage, package and card status`."""
    *others, last = list(names) or [""]
    return _("%(others)s and %(last)s") % {"others": ", ".join(others), "last": last} if others else last


def counted(count: int, noun: str) -> str:
    """Return how many there are of an English noun that takes an s: `1 run`, `1,200 runs`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _behind(first: str, second: str) -> str:
    return _("%(sentence)s %(following)s") % {"sentence": first, "following": second}
