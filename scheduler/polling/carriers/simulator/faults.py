"""Faults on demand: what a simulated carrier does wrong, for whom, and how long."""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr


class FaultKind(StrEnum):
    """What goes wrong."""

    THROTTLE = "throttle"
    SERVER = "server"
    MALFORMED = "malformed"
    HANG = "hang"
    CLOSE = "close"
    AUTH = "auth"
    TOKEN_EXPIRED = "token_expired"  # noqa: S105 - no token, the word
    QUOTA = "quota"
    NOT_OWNED = "not_owned"
    MISSING = "missing"
    SPOIL = "spoil"  # every batch in which the card is is refused as a whole


class Fault(BaseModel):
    """A fault that is ordered.

    Attributes:
        account, iccid, endpoint: for whom and which calls; None: for all.
        seconds, calls: for how long, or how often; None: until it is taken back.
        retry_after: seconds that a throttled caller is asked to wait; None: nothing is said of it.
        as_date: it is said as a date.
        status: of the carrier's own error.
    """

    model_config = ConfigDict(extra="forbid")

    kind: FaultKind
    account: str | None = None
    iccid: str | None = None
    endpoint: str | None = None
    seconds: Annotated[float, Field(gt=0)] | None = None
    calls: Annotated[int, Field(gt=0)] | None = None
    retry_after: Annotated[int, Field(ge=0)] | None = None
    as_date: bool = False
    status: int = Field(default=500, ge=500, le=599)
    _until: float = PrivateAttr(float("inf"))


class Faults:
    """The faults that hold."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def order(self, fault: Fault, now: float) -> None:
        """Let the fault hold from now on; where several fit, the latest counts."""
        ordered = fault.model_copy()
        ordered._until = float("inf") if fault.seconds is None else now + fault.seconds
        self._faults.insert(0, ordered)

    def clear(self) -> None:
        """Take all faults back."""
        self._faults.clear()

    def held(self) -> list[Fault]:
        """Return the faults that are ordered, with what is left of their calls."""
        return list(self._faults)

    def of_call(self, account: str, endpoint: str, iccid: str, now: float) -> Fault | None:
        """Return the fault that befalls the call, and count it; `iccid` is empty where it is about many or none."""
        return self._hit(lambda fault: _fits(fault, account, endpoint, iccid), now)

    def of_part(self, account: str, endpoint: str, iccid: str, now: float) -> Fault | None:
        """Return the fault of one card among many, which has to be ordered for this card."""
        return self._hit(lambda fault: fault.iccid == iccid and _fits(fault, account, endpoint, iccid), now)

    def _hit(self, fits: Callable[[Fault], bool], now: float) -> Fault | None:
        if not self._faults:
            return None
        self._faults = [fault for fault in self._faults if now < fault._until and fault.calls != 0]
        hit = next(filter(fits, self._faults), None)
        if hit is not None and hit.calls is not None:
            hit.calls -= 1
        return hit


def _fits(fault: Fault, account: str, endpoint: str, iccid: str) -> bool:
    return fault.account in (None, account) and fault.endpoint in (None, endpoint) and fault.iccid in (None, iccid)
