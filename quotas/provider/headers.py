"""What the headers of an answer say about the provider's limit."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from quotas.provider.instants import LONGEST_TEXT, NotBelieved, read_date
from quotas.provider.names import Role, meaning_of, role_of
from quotas.provider.observation import LONGEST_WAIT, Doubts, Observation
from quotas.provider.reading import Reader
from quotas.provider.structured import structured_windows
from quotas.provider.windows import Window, tightest, without_contradiction

# Draft 7 of the IETF, “limit=100, remaining=50, reset=30”, and Zendesk, “total=100; remaining=99; resets=41”
PAIR = re.compile(r"([a-z]{1,20}) ?= ?([0-9a-zA-Z.:+-]{1,40})")
PAIRS = re.compile(rf"\s*{PAIR.pattern}(?:\s*[,;]\s*{PAIR.pattern}){{0,10}}\s*")
# Shopify's and Salesforce's “used/limit”
SHARE = re.compile(r"([0-9]{1,18})/([0-9]{1,18})")
SHARES_IN = ("x-shopify-shop-api-call-limit", "sforce-limit-info")
STRUCTURED = ("ratelimit", "ratelimit-policy")

REFUSES = 429
MAY_REFUSE = (403, REFUSES, 503)

# Clocks that differ by no more are taken for equal: an answer is under way for a while.
CLOCK_TOLERANCE = timedelta(seconds=10)


def read_headers(
    headers: Mapping[str, str], *, status: int | None, received_at: datetime, window: str = ""
) -> Observation:
    """Return what the headers say: facts in absolute times, and doubts about what makes no sense. It never raises.

    Of several windows the tightest counts; see `quotas.provider.windows.tightest`.

    Args:
        headers: of the answer, in whatever case.
        status: of the answer; None if there was none.
        received_at: when it came, in UTC; waits are counted from it.
        window: a part of the names of the windows that are meant, in lower case, for example "tokens"; empty: all. A
            refusal counts whichever window is the cause.
    """
    fields = {name.lower(): value for name, value in headers.items()}
    doubts = Doubts()
    reader = Reader(received_at, doubts, _their_clock_ahead(fields, received_at))
    windows = [without_contradiction(window, doubts) for window in _windows(fields, reader)]
    meant = tightest(found for found in windows if window in found.name)
    retry_at = max(_retries(fields, reader), default=None)
    limited = is_refusal(status, windows, retry_at)
    if limited and window and not meant.is_empty:
        retry_at = retry_at or tightest(windows).resets_at
    return Observation(
        received_at=received_at,
        status=status,
        limited=limited,
        limit=meant.limit,
        remaining=meant.remaining,
        resets_at=meant.resets_at,
        retry_at=retry_at,
        doubts=doubts.sentences,
    )


def is_refusal(status: int | None, windows: Sequence[Window], retry_at: datetime | None) -> bool:
    """Return whether the provider refused because its limit was reached: by 429; by 403, as GitHub does, if it
    says that nothing is left or when to come back; by 503 if it says when.
    """
    match status:
        case 429:
            return True
        case 403:
            return retry_at is not None or any(window.is_empty for window in windows)
        case 503:
            return retry_at is not None
    return False


def _their_clock_ahead(fields: Mapping[str, str], received_at: datetime) -> timedelta:
    """Return by how much the provider's clock is ahead of ours; a cached answer does not tell."""
    if "date" not in fields or "age" in fields:
        return timedelta(0)
    try:
        ahead = read_date(fields["date"].strip()[:LONGEST_TEXT]) - received_at
    except NotBelieved:
        return timedelta(0)
    return ahead if CLOCK_TOLERANCE < abs(ahead) < LONGEST_WAIT else timedelta(0)


def _retries(fields: Mapping[str, str], reader: Reader) -> Iterator[datetime]:
    for name, value in fields.items():
        meaning = meaning_of(name)
        if meaning is not None and meaning.role is Role.RETRY:
            retry_at = reader.instant(name, value, meaning.unit)
            if retry_at is not None:
                yield retry_at


def _windows(fields: Mapping[str, str], reader: Reader) -> Iterator[Window]:
    if PAIRS.fullmatch(fields.get("ratelimit", "")):
        yield from _by_pairs("ratelimit", fields["ratelimit"], reader)
    else:
        yield from structured_windows(fields, reader)
    yield from _by_name(fields, reader)
    for name in SHARES_IN:
        for used, limit in SHARE.findall(fields.get(name, "")):
            yield Window(name, limit=int(limit), used=int(used))


def _by_name(fields: Mapping[str, str], reader: Reader) -> Iterator[Window]:
    """Yield the windows of which each value has a header of its own."""
    windows: dict[str, Window] = {}
    for name, value in fields.items():
        meaning = meaning_of(name)
        if meaning is None or meaning.role is Role.RETRY or name in STRUCTURED:
            continue
        if meaning.role is Role.PAIRS:
            yield from _by_pairs(name, value, reader)
        else:
            window = windows.setdefault(meaning.window, Window(meaning.window))
            _put(window, meaning.role, name, value, reader, meaning.unit)
    yield from windows.values()


def _by_pairs(name: str, value: str, reader: Reader) -> Iterator[Window]:
    if PAIRS.fullmatch(value):
        window = Window(name)
        for key, text in PAIR.findall(value):
            role = role_of(key)
            if role is not None:
                _put(window, role, name, text, reader)
        yield window


def _put(window: Window, role: Role, name: str, value: str, reader: Reader, unit: str = "s") -> None:
    """Note one value of the window; of two that say the same, the later reset and the smaller rest count."""
    match role:
        case Role.LIMIT:
            window.limit = reader.amount(name, value)
        case Role.REMAINING:
            window.remaining = reader.smallest_amount(name, value)
        case Role.USED:
            window.used = reader.amount(name, value)
        case Role.RESET:
            resets_at = reader.instant(name, value, unit)
            window.resets_at = max(filter(None, (window.resets_at, resets_at)), default=None)
