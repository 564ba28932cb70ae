"""What one answer of a provider says about its limit: facts, and doubts about what makes no sense."""

from dataclasses import dataclass
from datetime import datetime, timedelta

# Longer than the longest month: nobody's window is believed to last longer.
LONGEST_WAIT = timedelta(days=35)
LARGEST_AMOUNT = 2**63 - 1  # what the database's bigint holds
MOST_DOUBTS = 10
# Refused before anybody looked at a limit: who are you, and be quicker.
NOT_LET_IN = (401, 403, 407, 408)
SHOWN_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class Observation:
    """What a provider said.

    Attributes:
        received_at: when it was heard; whatever it says of the future is counted from here.
        status: of the HTTP answer; None if unknown.
        limited: the provider refused because its limit was reached.
        limit: how much it grants in its window; None if unknown.
        remaining: how much of that is left; None if unknown.
        resets_at: when the window begins anew, never before `received_at` and at most `LONGEST_WAIT` after it.
        retry_at: when it wants to be asked again, within the same bounds.
        doubts: a sentence about each value that makes no sense and is therefore not among the facts.
    """

    received_at: datetime
    status: int | None = None
    limited: bool = False
    limit: int | None = None
    remaining: int | None = None
    resets_at: datetime | None = None
    retry_at: datetime | None = None
    doubts: tuple[str, ...] = ()

    @property
    def hint(self) -> datetime | None:
        """When to come back, if it says so."""
        return self.retry_at or self.resets_at

    @property
    def confirms(self) -> bool:
        """Whether it shows that the provider lets us in: it did the work, or says that something is left."""
        if self.limited:
            return False
        if self.status is None:
            return bool(self.remaining)
        return self.status < 500 and self.status not in NOT_LET_IN

    @property
    def says_something(self) -> bool:
        """Whether there is a fact in it."""
        facts = (self.limit, self.remaining, self.resets_at, self.retry_at)
        return self.limited or any(fact is not None for fact in facts)


class Doubts:
    """The sentences about values that make no sense.

    Args:
        shows_values: what was said may be repeated; the value that a probe picks by mistake may be a secret.
    """

    def __init__(self, *, shows_values: bool = True) -> None:
        self._shows_values = shows_values
        self._sentences: list[str] = []

    def note(self, name: str, value: str, reason: str) -> None:
        """Remember that this value is not believed."""
        said = f"{name} said “{_shortened(value)}”, which" if self._shows_values else f"{name} said something that"
        self.add(f"{said} {reason}.")

    def add(self, sentence: str) -> None:
        """Remember a sentence, unless there are too many already."""
        if sentence not in self._sentences and len(self._sentences) < MOST_DOUBTS:
            self._sentences.append(sentence)

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of them, in the order in which they came up."""
        return tuple(self._sentences)


def _shortened(value: str) -> str:
    printable = "".join(character if character.isprintable() else "·" for character in value)
    return printable if len(printable) <= SHOWN_CHARACTERS else f"{printable[: SHOWN_CHARACTERS - 1]}…"
