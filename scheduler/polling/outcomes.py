"""What came of asking a carrier about a card."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from scheduler.polling.carriers.base import CardRef, CarrierError, Reading
from scheduler.polling.policy import Facts
from scheduler.polling.queue.entries import Claim, Finish
from scheduler.polling.states import CheckType, ErrorClass

# Not failures of the card: it is asked again later, and nothing is counted.
_LATER = frozenset({ErrorClass.COOLDOWN, ErrorClass.PENDING})
LATER_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Subject:
    """A card as it was when it was read to be asked about."""

    ref: CardRef
    facts: Facts


@dataclass(frozen=True, slots=True)
class Asked:
    """One check of one card: what the carrier said, or why it did not; troubles of its account are not among that."""

    type: CheckType
    at: datetime
    reading: Reading | None = None
    error: CarrierError | None = None

    @property
    def later_at(self) -> datetime | None:
        """When it is to be asked again because it only has to wait; None: it answered, or failed."""
        if self.error is None or self.error.error_class not in _LATER:
            return None
        return self.at + timedelta(seconds=self.error.retry_after or LATER_SECONDS)

    @property
    def is_failure(self) -> bool:
        """Whether it counts as a failure of the card, which what only has to wait does not."""
        return self.error is not None and self.later_at is None


@dataclass(slots=True)
class Polled:
    """A claimed card and what came of its due checks, in the order in which they were asked.

    Attributes:
        again_at: when what was not asked is due; None: as it was.
        trouble: what the account has to be left in peace for.
        unsupported: due checks that the account's gateway cannot make; they are not due any more.
    """

    claim: Claim
    subject: Subject
    asked: list[Asked] = field(default_factory=list)
    again_at: datetime | None = None
    trouble: CarrierError | None = None
    unsupported: frozenset[CheckType] = frozenset()


@dataclass(frozen=True, slots=True)
class Settled:
    """What was written.

    Attributes:
        written: how many checks.
        stale: how many came too late.
        held: the accounts that are left in peace by now, and until when.
        finishes: by account, how the claims are to be finished in the live order.
    """

    written: int
    stale: int
    held: Mapping[int, datetime]
    finishes: Mapping[int, Sequence[Finish]]


def troubles(polled: Sequence[Polled]) -> dict[int, CarrierError]:
    """Return by account why it has to be left in peace: the trouble that asks for the longest pause."""
    worst: dict[int, CarrierError] = {}
    for one in polled:
        if one.trouble is None:
            continue
        known = worst.get(one.claim.account_id)
        if known is None or (one.trouble.retry_after or 0) > (known.retry_after or 0):
            worst[one.claim.account_id] = one.trouble
    return worst
