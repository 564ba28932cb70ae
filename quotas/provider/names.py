"""Which header says what: the many spellings of “X-RateLimit-Remaining”."""

import re
from dataclasses import dataclass
from enum import Enum

# X-RateLimit-…, X-Rate-Limit-…, Anthropic-RateLimit-…, X-MS-RateLimit-…; X-App-Limit-24hour-… and X-User-Limit-… of X
FAMILY = re.compile(r"(?P<prefix>.*?(?:rate-?limits?|app-limit|user-limit))(?:-(?P<rest>.*))?")
RETRY_AFTER = re.compile(r"(?:x-)?(?:ms-)?retry-after(?:-(?P<unit>ms|seconds))?")

ROLES = {
    "limit": "limit",
    "max": "limit",
    "total": "limit",
    "remaining": "remaining",
    "left": "remaining",
    "used": "used",
    "reset": "reset",
    "resets": "reset",
    "resettime": "reset",
}
UNITS = {"ms": "ms", "millis": "ms", "milliseconds": "ms"}
# They say in which form a time is told; the value says it too.
FORMS = {"after", "at", "date", "epoch", "in", "s", "sec", "seconds", "time", "timestamp", "utc"}
# HubSpot's X-HubSpot-RateLimit-Daily is a limit although it does not say so.
PERIODS = {"second", "secondly", "minute", "minutely", "hour", "hourly", "day", "daily", "month", "monthly"}


class Role(Enum):
    """What a value is."""

    LIMIT = "limit"
    REMAINING = "remaining"
    USED = "used"
    RESET = "reset"
    RETRY = "retry"
    PAIRS = "pairs"  # several in one: “total=100; remaining=99; resets=41”


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a header says, and of which window.

    Attributes:
        window: what the headers of one window have in common.
        unit: of a bare number that is a wait, "s" or "ms".
    """

    window: str
    role: Role
    unit: str = "s"


def meaning_of(name: str) -> Meaning | None:
    """Return what the header (in lower case) says, or None if it is not about a limit."""
    name = name.replace("_", "-")
    retry = RETRY_AFTER.fullmatch(name)
    if retry is not None:
        return Meaning("", Role.RETRY, UNITS.get(retry["unit"], "s"))
    family = FAMILY.fullmatch(name)
    return None if family is None else _meaning(family["prefix"], (family["rest"] or "").split("-"))


def role_of(word: str) -> Role | None:
    """Return what a value of this name is; None if it is none of ours."""
    role = ROLES.get(word)
    return None if role is None else Role(role)


def _meaning(prefix: str, words: list[str]) -> Meaning | None:
    unit = next((UNITS[word] for word in words if word in UNITS), "s")
    if words[:2] == ["retry", "after"] or words == ["next"]:
        return Meaning(prefix, Role.RETRY, unit)
    roles = [role for word in words if (role := role_of(word)) is not None]
    rest = [word for word in words if word and word not in ROLES and word not in UNITS and word not in FORMS]
    window = "-".join([prefix, *rest])
    if roles:
        return Meaning(window, roles[0], unit)
    return Meaning(window, Role.LIMIT if set(rest) <= PERIODS else Role.PAIRS, unit)
