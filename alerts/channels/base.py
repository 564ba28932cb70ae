"""What a format is: it writes a message as the bytes of a request, and reads what the answer means."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from alerts.messages import Message
from alerts.states import DeliveryOutcome


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to and as whom.

    Attributes:
        address: a URL, or what the format takes as one. It is a secret: many platforms put their token in it.
        secrets: for signing, the present one first; older ones while they are rotated.
        keyword: what a group's filter wants to find in every message, or empty.
        sender: how the message names its origin.
    """

    address: str
    secrets: tuple[str, ...] = ()
    keyword: str = ""
    sender: str = "Tideline"


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent: exactly these bytes, which are also what was signed."""

    url: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: status, headers by lower-case names, and the first bytes of the body."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer means.

    Attributes:
        code: the platform's own code, or the HTTP status as text.
        meaning: a sentence for people: what it means and what to do.
        retry_after: seconds that the platform asks to wait, or None.
    """

    outcome: DeliveryOutcome
    code: str = ""
    meaning: str = ""
    retry_after: float | None = None


class Format(Protocol):
    """One way to write a message."""

    name: str
    # The most bytes that the final body may have.
    body_limit: int
    # How many messages the platform takes: pairs of a count and seconds.
    rates: tuple[tuple[int, float], ...]

    def render(self, message: Message, endpoint: Endpoint, *, now: datetime) -> Request:
        """Write the message for the endpoint: within the limit, cut at a character's edge, signed at `now`."""

    def judge(self, answer: Answer) -> Verdict:
        """Read what the answer means."""
