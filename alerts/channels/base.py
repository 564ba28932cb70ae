"""What a format is: it writes a message for its way out, and reads what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from django.utils.translation import gettext as _

from alerts.channels.text import one_line
from alerts.messages import Message
from alerts.states import DeliveryOutcome

LONGEST_KEYWORD = 100

# How many messages are taken: pairs of a count and seconds.
Rates = tuple[tuple[int, float], ...]


class Refused(ValueError):
    """An endpoint that cannot be right. The text is a sentence for people; it names what to mend, and no secret.

    Args:
        field: the channel's field that it is about.
    """

    def __init__(self, sentence: str, field: str = "address") -> None:
        super().__init__(sentence)
        self.field = field


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to and as whom.

    Attributes:
        address: a URL, or what the format takes as one. It is a secret: many platforms put their token in it.
        secrets: for signing, the present one first; older ones while they are rotated.
        keyword: what a group's filter wants to find in every message, or empty.
        sender: how the message names its origin.

    Raises:
        Refused: the keyword is one that no message could be sure to hold.
    """

    address: str = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    keyword: str = ""
    sender: str = "Tideline"

    def __post_init__(self) -> None:
        if len(self.keyword) > LONGEST_KEYWORD:
            raise Refused(
                _("The keyword is too long: shorten it to %(longest_keyword)s characters.")
                % {"longest_keyword": LONGEST_KEYWORD},
                "keyword",
            )
        if one_line(self.keyword) != self.keyword:
            raise Refused(
                _("The keyword holds line breaks, invisible characters or needless spaces: type it again."), "keyword"
            )


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP POST: exactly these bytes, which are also what was signed, to exactly this URL: encode nothing again."""

    url: str = field(repr=False)
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Letter:
    """An e-mail. The headers are those beyond the usual ones."""

    recipients: tuple[str, ...]
    subject: str
    text: str
    html: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Notice:
    """What apprise is to send, as plain text; it cannot say more of the outcome than true or false."""

    address: str = field(repr=False)
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: status, headers by lower-case names, and the first bytes of the body."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer means. It is stored and shown, so it never repeats what the other side wrote.

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
    """One way to write a message for HTTP. E-mail and apprise have the same verbs, with a Letter and a Notice."""

    name: str
    # How people call it.
    label: str
    # The most bytes that the final body may have.
    body_limit: int
    # How many messages the platform takes.
    rates: Rates

    def check(self, endpoint: Endpoint) -> None:
        """Look at the endpoint as it is saved.

        Raises:
            Refused: the address or a secret cannot be right for this format.
        """

    def render(self, message: Message, endpoint: Endpoint, *, now: datetime) -> Request:
        """Write the message for the endpoint: within the limit, cut at a character's edge, signed at `now`.

        Raises:
            Refused: as `check` does.
        """

    def judge(self, answer: Answer) -> Verdict:
        """Read the answer as this platform means it. Which platform answered is decided in `judging`."""
