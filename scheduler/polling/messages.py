"""How claims travel from the dispatcher to a poller, as JSON."""

from collections.abc import Sequence

from scheduler.polling.queue.entries import Claim
from scheduler.polling.queue.packing import TYPES, mask_of, types_of


def as_message(claims: Sequence[Claim]) -> list[list[int]]:
    """Return claims of one account as numbers: card, token, mask of the due types, failures of each type."""
    return [
        [claim.card_id, claim.token, mask_of(claim.types), *(claim.failures[check] for check in TYPES)]
        for claim in claims
    ]


def from_message(account_id: int, message: Sequence[Sequence[int]]) -> list[Claim]:
    """Return the claims of a message."""
    return [
        Claim(account_id, card_id, token, types_of(mask), dict(zip(TYPES, failures, strict=True)))
        for card_id, token, mask, *failures in message
    ]
