"""The one form that every message has, whatever it tells and whichever way it goes out.

A group may take only messages with a certain word. The word stands in the head, which is never left out, so the
all-clear passes where the alarm passed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC

from alerts.channels.base import Endpoint
from alerts.channels.text import clean, cut, defused, link, most, one_line, shortened
from alerts.messages import Message
from alerts.states import Telling

# In no language but one: a group's filter sees the same words whoever sends, and the all-clear those of the alarm.
TELLINGS: Mapping[Telling, str] = {
    Telling.OPENED: "opened",
    Telling.REPEATED: "still open",
    Telling.RECOVERED: "recovered",
    Telling.FLAPPING: "flapping",
    Telling.NOTICE: "notice",
    Telling.DIGEST: "digest",
    Telling.TEST: "test",
}
LONGEST_TITLE = 300
LONGEST_SENDER = 60
LONGEST_KIND = 60


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the message; with a label it is a fact."""

    text: str
    label: str = ""

    def __str__(self) -> str:
        return f"{self.label}: {self.text}" if self.label else self.text


@dataclass(frozen=True, slots=True)
class Page:
    """A message laid out.

    Attributes:
        opening: what it tells, who tells it and the group's keyword; it stands first and is never cut.
        title: what it is about.
        particulars: how much it matters, what happened and when.
        lines: what happened in words, and the facts.
        left_out: how many lines had no room.
        url: where to look, or empty.
    """

    opening: str
    title: str
    particulars: str
    lines: tuple[Line, ...]
    left_out: int = 0
    url: str = ""

    @property
    def head(self) -> str:
        """Say how it stands, and of what."""
        return f"{self.opening} {self.title}"

    @property
    def more(self) -> str:
        """Say how many lines had no room, or nothing."""
        return f"… {self.left_out} more {'line' if self.left_out == 1 else 'lines'}" if self.left_out else ""

    @property
    def body(self) -> tuple[str, ...]:
        """Return the lines under the particulars as they are read."""
        return (*map(str, self.lines), *filter(None, [self.more]))

    def as_text(self) -> str:
        """Return the whole as plain text."""
        return "\n".join(filter(None, [self.head, self.particulars, *self.body, self.url]))


def lay_out(message: Message, endpoint: Endpoint) -> Page:
    """Lay the message out as it is."""
    return Page(
        opening=_opening(message, endpoint),
        title=shortened(one_line(message.title), LONGEST_TITLE),
        particulars=_particulars(message),
        lines=(*_text_lines(message), *_facts(message)),
        url=link(message.url),
    )


def lay_out_for_chat(message: Message, endpoint: Endpoint) -> Page:
    """Lay the message out so that nothing in it calls the people of a group."""
    page = lay_out(message, endpoint)
    lines = tuple(Line(defused(line.text), defused(line.label)) for line in page.lines)
    return replace(page, title=defused(page.title), particulars=defused(page.particulars), lines=lines)


def fitted(page: Page, fits: Callable[[Page], bool]) -> Page:
    """Return the page with as much as fits: first the last lines go, then the link, then the end of the title."""
    if fits(page):
        return page
    frame = _frame(page, fits)
    count = most(len(page.lines), lambda count: fits(_first(frame, page.lines, count)))
    return _with_part_of_next(frame, page.lines, count, fits)


def _opening(message: Message, endpoint: Endpoint) -> str:
    sender = shortened(one_line(endpoint.sender), LONGEST_SENDER)
    keyword = endpoint.keyword if endpoint.keyword not in sender else ""
    return f"[{TELLINGS[message.telling]}] {' '.join(filter(None, [sender, keyword]))}:"


def _particulars(message: Message) -> str:
    kind = shortened(one_line(message.kind).replace("_", " "), LONGEST_KIND)
    return f"{message.severity} · {kind} · {message.at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _text_lines(message: Message) -> list[Line]:
    return [Line(line.rstrip()) for line in clean(message.text).strip().split("\n") if line.strip()]


def _facts(message: Message) -> list[Line]:
    lines = [Line(one_line(value), one_line(label)) for label, value in message.facts]
    return [line for line in lines if str(line)]


def _frame(page: Page, fits: Callable[[Page], bool]) -> Page:
    """Return what stays when all lines are left out."""
    frame = _first(page, page.lines, 0)
    if not fits(frame):
        frame = replace(frame, url="")
    return replace(frame, title=cut(frame.title, lambda title: fits(replace(frame, title=title))))


def _first(page: Page, lines: tuple[Line, ...], count: int) -> Page:
    return replace(page, lines=lines[:count], left_out=len(lines) - count)


def _with_part_of_next(frame: Page, lines: tuple[Line, ...], count: int, fits: Callable[[Page], bool]) -> Page:
    """Return the page with the first lines and the beginning of the next one, if there is room for some of it."""
    page = _first(frame, lines, count)
    if count == len(lines):
        return page

    def with_next(text: str) -> Page:
        next_line = replace(lines[count], text=text)
        return replace(page, lines=(*page.lines, next_line), left_out=page.left_out - 1)

    part = cut(lines[count].text, lambda text: fits(with_next(text)))
    return with_next(part) if part else page
