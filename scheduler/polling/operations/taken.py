"""An operation that was claimed for a sender, and how it travels there, as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Taken:
    """A claimed operation.

    Attributes:
        token: of the claim; only who knows it may write what came of it.
    """

    operation_id: int
    card_id: int
    token: int


def as_message(taken: Sequence[Taken]) -> list[list[int]]:
    """Return operations of one account as numbers: operation, card, token."""
    return [[one.operation_id, one.card_id, one.token] for one in taken]


def from_message(message: Sequence[Sequence[int]]) -> list[Taken]:
    """Return the operations of a message."""
    return [Taken(*numbers) for numbers in message]
