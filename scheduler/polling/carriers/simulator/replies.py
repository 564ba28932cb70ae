"""What a simulated carrier answers: its codes, and how each failure looks on the wire."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from enum import Enum
from typing import Any

from scheduler.polling.carriers.simulator.faults import Fault, FaultKind

JSON, HTML = "application/json", "text/html; charset=ISO-8859-1"
OK = "0"


class Conduct(Enum):
    """How a reply ends."""

    ANSWER = "answer"
    HANG = "hang"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, or that there is none.

    Attributes:
        name: by which answers are counted.
    """

    name: str
    status: int = 200
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    conduct: Conduct = Conduct.ANSWER


class Refusal(Exception):
    """The carrier refuses what is asked; one of a card can stand in for its part of an answer about many.

    Attributes:
        status, code, message: as they stand in the answer.
    """

    def __init__(self, name: str, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.name, self.status, self.code, self.message = name, status, code, message

    def document(self) -> dict[str, Any]:
        """Return it as the body."""
        return {"code": self.code, "message": self.message}

    def reply(self, **headers: str) -> Reply:
        """Return it as the whole answer."""
        return Reply(self.name, self.status, json.dumps(self.document()).encode(), headers=headers)


# As real ones do, the carrier says some things by the status, some in a 200, and some by both.
REFUSALS = {
    refusal.name: refusal
    for refusal in (
        Refusal("auth", 401, "12022", "The user or password is wrong"),
        Refusal("token_expired", 401, "12021", "The token has expired"),
        Refusal("throttle", 429, "42900", "Too many requests"),
        Refusal("quota", 200, "12100", "The daily quota is used up"),
        Refusal("not_owned", 200, "12009", "The card is not yours"),
        Refusal("missing", 404, "12010", "There is no such card"),
        Refusal("state", 200, "12089", "The state does not allow it"),
        Refusal("cooldown", 200, "12090", "The card was changed too lately"),
        Refusal("parameter", 400, "11000", "The request makes no sense"),
    )
}


def done(document: Any, status: int = 200) -> Reply:
    """Return the answer of success."""
    return Reply("ok", status, json.dumps({"code": OK, "message": "ok", "data": document}).encode())


_STANDING = {
    FaultKind.MALFORMED: Reply("malformed", 200, b'{"code": "0", "data": '),
    FaultKind.HANG: Reply("hang", conduct=Conduct.HANG),
    FaultKind.CLOSE: Reply("close", conduct=Conduct.CLOSE),
    FaultKind.SPOIL: REFUSALS["not_owned"].reply(),
}


def of_fault(fault: Fault, now: datetime) -> Reply:
    """Return what a fault looks like from outside."""
    if fault.kind is FaultKind.SERVER:
        page = "<html><body><h1>Fehler</h1>Zugriff gest\xf6rt</body></html>".encode("iso-8859-1")
        return Reply("server", fault.status, page, HTML)
    if fault.kind is FaultKind.THROTTLE:
        return _throttled(fault, now)
    return _STANDING.get(fault.kind) or REFUSALS[fault.kind].reply()


def _throttled(fault: Fault, now: datetime) -> Reply:
    if fault.retry_after is None:
        return REFUSALS["throttle"].reply()
    if not fault.as_date:
        return REFUSALS["throttle"].reply(**{"Retry-After": str(fault.retry_after)})
    until = format_datetime(now + timedelta(seconds=fault.retry_after), usegmt=True)
    return REFUSALS["throttle"].reply(**{"Retry-After": until, "Date": format_datetime(now, usegmt=True)})


def as_utc(now: float) -> datetime:
    """Return an instant in seconds since 1970."""
    return datetime.fromtimestamp(now, UTC)
