"""What a ledger entry says about its origin."""

import uuid
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Purchase:
    """Who spends or gives, under which idempotency key and why.

    Attributes:
        key: the idempotency key.
        owner: for whom, as a text key.
        attempt: the number of the owner's execution.
        actor: the person, where it was one.
        refund_on_failure: see charging.refund_unused.
    """

    key: str
    owner: str = ""
    attempt: int | None = None
    actor: str = ""
    reason: str = ""
    refund_on_failure: bool = False


def purchase(key: str | None, **said: Any) -> Purchase:
    """Return the purchase; without a key under one of its own, which nobody repeats."""
    return Purchase(str(uuid.uuid4()) if key is None else key, **said)
