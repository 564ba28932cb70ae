"""What the scripts are called with and what they answer: pure, the same for both kinds of client."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from quotas.ratelimit.windows import MICROSECONDS, LimiterError, Window, check_cost, checked_windows, is_number

PREFIX = "tideline:limiter"
LONGEST_NAME = 200
FOR_EVER = -1
NOT_EVEN = -1

Argument = int | bytes


class Refused(Exception):
    """The wait is longer than the caller would wait. Nothing was booked.

    Attributes:
        microseconds: after how long the same call would pass if nobody else books: its earliest instant.
    """

    def __init__(self, microseconds: int) -> None:
        super().__init__(f"The limit is reached. The call could be made in {microseconds / MICROSECONDS:.6f} s.")
        self.microseconds = microseconds

    @property
    def seconds(self) -> float:
        """After how many seconds the same call would pass."""
        return self.microseconds / MICROSECONDS


class Booking(NamedTuple):
    """A slot: the call may be made after so many microseconds.

    Attributes:
        microseconds: how long to sleep from the answer's arrival; below 0 where the slot has just passed.
        cost: how many calls it counts for.
        token: what `give_back` knows it by: when it was booked, on the limiter's clock.
    """

    microseconds: int
    cost: int
    token: int

    @property
    def seconds(self) -> float:
        """How many seconds to sleep before the call."""
        return max(self.microseconds, 0) / MICROSECONDS


class Calls:
    """The keys and arguments of one limiter.

    Attributes:
        keys: its state's and each window's.
        window_arguments: what the scripts know of its windows.

    Raises:
        LimiterError: the name or the windows cannot be used.
    """

    def __init__(self, name: str, windows: Sequence[Window]) -> None:
        self.windows = checked_windows(windows)
        self.keys = _keys(_checked_name(name), self.windows)
        self.tolerance = min(window.tolerance for window in self.windows)
        self.window_arguments = tuple(b"%d" % number for window in self.windows for number in _numbers(window))

    def book(self, cost: int, max_wait: float | None) -> tuple[Argument, ...]:
        """Return the arguments of the script `book`.

        Raises:
            LimiterError, NeverPossible: the cost or the wait makes no sense.
        """
        check_cost(cost, self.windows)
        return cost, _microseconds(max_wait), *self.window_arguments

    def give_back(self, booking: Booking) -> tuple[Argument, ...]:
        """Return the arguments of the script `give_back`."""
        return booking.token, booking.cost

    def left(self, enough: int) -> tuple[Argument, ...]:
        """Return the arguments of the script `left`."""
        return enough, *self.window_arguments


def booking(reply: list[int], cost: int) -> Booking:
    """Read what the script `book` answers.

    Raises:
        Refused: nothing was booked.
    """
    microseconds, token = reply
    if not token:
        raise Refused(microseconds)
    return Booking(microseconds, cost, token)


def script(name: str) -> str:
    """Return the text of a script, with what it needs before it."""
    return (calls_left() if name == "left" else _text("shared")) + _text(name)


def calls_left() -> str:
    """Return Lua to put before another script, which can then ask the limiter without booking.

    It defines one local function, `calls_left(key, argument, horizon, enough)`. Its `key` is where `Calls.keys` begin
    in KEYS, and `argument` where `Calls.window_arguments` begin in ARGV, of which they are the last. It returns how
    many calls could be booked with a slot before `horizon` microseconds are over, and counts no further than `enough`.
    """
    return f"local calls_left\ndo\n{_text('shared')}{_text('calls_left')}end\n"


def _text(name: str) -> str:
    return (Path(__file__).with_name("scripts") / f"{name}.lua").read_text()


def _checked_name(name: str) -> str:
    if not name or len(name) > LONGEST_NAME or set(name) & set("{}"):
        raise LimiterError("name", f"name: write 1 to {LONGEST_NAME} characters without braces, not {name!r}.")
    return name


def _keys(name: str, windows: Sequence[Window]) -> tuple[bytes, ...]:
    """Return the state's key and each window's, in one slot of a cluster.

    A window is known by its length: a limit that changes goes on from the same log.
    """
    state = f"{PREFIX}:{{{name}}}"
    return state.encode(), *(f"{state}:{window.length}".encode() for window in windows)


def _numbers(window: Window) -> tuple[int, int, int]:
    """Return what the scripts know of a window."""
    return window.limit, window.length, window.patience if window.is_even else NOT_EVEN


def _microseconds(max_wait: float | None) -> int:
    if max_wait is None:
        return FOR_EVER
    if not is_number(max_wait) or max_wait < 0:
        raise LimiterError("max_wait", f"max_wait: write seconds from 0, or None to wait for ever, not {max_wait!r}.")
    return int(max_wait * MICROSECONDS)
