"""Text that other programs read: clean, cut where no character breaks, and never a mention of everybody."""

import json
import re
from collections.abc import Callable
from urllib.parse import urlsplit

from wcwidth import iter_graphemes

CUT = "…"
LONGEST_URL = 2000
# Line ends of all kinds; control characters but tab; marks that turn the direction of what follows; half characters.
LINE_END = re.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
HALF_CHARACTER = re.compile(r"[\ud800-\udfff]")
# What a chat platform may take for a call to people: <!channel>, <@user>, <at id=all>, @all, @everyone, @所有人.
MENTION = re.compile(r"<(?=[@!#]|/?at\b)|@(?=all|everyone|channel|here|所有人|全体)", re.IGNORECASE)
WORD_JOINER = "\u2060"


def clean(text: str) -> str:
    """Return the text as every receiver can take it: one kind of line end, no control characters, whole characters."""
    return HALF_CHARACTER.sub("\ufffd", CONTROL.sub("", LINE_END.sub("\n", text)))


def one_line(text: str) -> str:
    """Return the clean text in one line, with single spaces."""
    return " ".join(clean(text).split())


def defused(text: str) -> str:
    """Return the text in which nothing calls people: an invisible mark parts what would be a mention."""
    return MENTION.sub(rf"\g<0>{WORD_JOINER}", text)


def link(url: str) -> str:
    """Return the URL if it is one that people may be led to by a click, else an empty text."""
    if len(url) > LONGEST_URL or clean(url) != url or any(character.isspace() for character in url):
        return ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme in {"http", "https"} and parts.netloc else ""


def shortened(text: str, longest: int) -> str:
    """Return the text with at most so many characters, with the mark of the cut."""
    return cut(text, lambda part: len(part) <= longest)


def cut(text: str, fits: Callable[[str], bool]) -> str:
    """Return the longest beginning that fits with the mark of the cut behind it; the whole if that fits.

    What people see as one character is not cut apart: no emoji of several, no letter from its accents. Where nothing
    fits, nothing is returned.
    """
    if fits(text):
        return text
    characters = list(iter_graphemes(text))
    count = most(len(characters) - 1, lambda count: fits(_beginning(characters, count)))
    return _beginning(characters, count) if count else ""


def _beginning(characters: list[str], count: int) -> str:
    return "".join(characters[:count]).rstrip() + CUT


def most(largest: int, fits: Callable[[int], bool]) -> int:
    """Return the largest count from 0 to `largest` that fits; 0 is taken to fit, and more to need more room."""
    fitting, failing = 0, largest + 1
    while failing - fitting > 1:
        middle = (fitting + failing) // 2
        if fits(middle):
            fitting = middle
        else:
            failing = middle
    return fitting


def json_bytes(content: object) -> bytes:
    """Return the content as the bytes that are sent and signed."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
