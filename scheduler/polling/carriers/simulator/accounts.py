"""What accounts a simulated carrier has, and how each of them behaves."""

import re
from dataclasses import dataclass, fields, replace
from typing import Any
from zlib import crc32

from scheduler.polling.iccid import check_digit

_NAME = re.compile(r"[a-z0-9-]{1,40}")
DIGITS, PREFIX_DIGITS = 20, 9
_LIMIT = re.compile(r"([0-9]{1,9})/([0-9]{1,9}(?:\.[0-9]{1,6})?)")


class BadPlan(ValueError):
    """An account that cannot be; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class Limit:
    """So many calls in any span of so many seconds."""

    calls: int
    seconds: float

    @property
    def tolerated(self) -> int:
        """How many calls are let pass: a carrier that counts exactly forgives the jitter of the way to it."""
        return self.calls + self.calls // 50 + 1


@dataclass(frozen=True, slots=True)
class AccountPlan:
    """An account.

    Attributes:
        name: the beginning of its paths.
        cards: how many it has; see `iccid_of`.
        latency: milliseconds until an answer.
        spread: by how many milliseconds the latency differs, in either direction.
        limits: how many calls it bears.
        concurrency: how many calls at one time; None: any number.
        token_seconds: for how long a token holds.
        change_seconds: until a stop or resume that was accepted is done.
        change_interval: seconds between two changes of a card; an earlier one is refused.
    """

    name: str = "main"
    cards: int = 1000
    latency: float = 20
    spread: float = 0
    limits: tuple[Limit, ...] = ()
    concurrency: int | None = None
    token_seconds: float = 3600
    change_seconds: float = 2
    change_interval: float = 10

    @property
    def key(self) -> str:
        """The key with which it is asked."""
        return f"key-of-{self.name}-4f1c"

    @property
    def password(self) -> str:
        """The password with which a token is fetched; the user is the account's name."""
        return f"password-of-{self.name}-9b2e"


def iccid_of(account: str, number: int) -> str:
    """Return the ICCID of an account's card, which are numbered from 0; 20 digits with the check digit."""
    digits = f"8986{crc32(account.encode()) % 100_000:05d}{number:010d}"
    return digits + check_digit(digits)


def number_of(account: str, iccid: str) -> int | None:
    """Return the number of an account's card, or None: it is none of the account."""
    if not (iccid.isascii() and iccid.isdigit() and len(iccid) == DIGITS):
        return None
    number = int(iccid[PREFIX_DIGITS:-1])
    return number if iccid_of(account, number) == iccid else None


# --- as text ---------------------------------------------------------------------------------------------------


def plan_of(text: str) -> AccountPlan:
    """Return the account of a text such as `slow,cards=100,latency=500,rate=5/1,rate=2000/300,concurrency=1`.

    Raises:
        BadPlan: it cannot be read.
    """
    name, *options = text.split(",")
    if not _NAME.fullmatch(name):
        raise BadPlan(f"“{name}” cannot be the name of an account: write small letters, digits and hyphens.")
    plan = AccountPlan(name)
    for option in options:
        key, _, value = option.partition("=")
        plan = _with_option(plan, key, value)
    return plan


def limit_of(text: str) -> Limit:
    """Return the limit of a text such as 5/1, five calls in a second.

    Raises:
        BadPlan: it cannot be read.
    """
    found = _LIMIT.fullmatch(text)
    if found is None or int(found[1]) < 1 or float(found[2]) <= 0:
        raise BadPlan(f"“{text}” is no rate: write calls/seconds, such as 5/1.")
    return Limit(int(found[1]), float(found[2]))


def _with_option(plan: AccountPlan, key: str, value: str) -> AccountPlan:
    if key == "rate":
        return replace(plan, limits=(*plan.limits, limit_of(value)))
    kinds: dict[str, Any] = {"cards": int, "concurrency": int}
    known = [field.name for field in fields(AccountPlan) if field.name not in ("name", "limits")]
    if key not in known:
        raise BadPlan(f"An account has no “{key}”: write one of rate, {', '.join(known)}.")
    try:
        number = kinds.get(key, float)(value)
    except ValueError:
        raise BadPlan(f"{key}: “{value}” is no number.") from None
    if not 0 <= number < float("inf"):
        raise BadPlan(f"{key}: write a number from 0 on, not {value}.")
    return replace(plan, **{key: number})
