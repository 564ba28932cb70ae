"""How operations end that the carrier accepted: the card was seen as it should be, or never was."""

from collections.abc import Iterable
from datetime import datetime


def confirmed(operation_ids: Iterable[int], now: datetime) -> None:
    """End operations whose cards were seen as they should be: they are done, and their alerts resolved.

    Call it in the transaction that ends the confirmations. Operations that ended meanwhile are left as they are.
    """
    raise NotImplementedError


def never_seen(operation_ids: Iterable[int], now: datetime) -> None:
    """End operations whose cards were looked at for the last time, and were not as they should be; tell of them.

    Call it in the transaction that ends the confirmations. Operations that ended meanwhile are left as they are.
    """
    raise NotImplementedError
