"""How much: the forms in which providers say a limit and what is left of it, as integers."""

import re
from decimal import Decimal

from quotas.provider.instants import NotBelieved
from quotas.provider.observation import LARGEST_AMOUNT

LONGEST_TEXT = 1000
AMOUNT = re.compile(r"\+?[0-9]{1,20}(?:\.[0-9]{1,20})?")


def read_amount(text: str) -> int:
    """Return the amount, rounded down: of “100, 100;w=60” and “100;w=21600” it is the first number.

    Raises:
        NotBelieved: there is none, or it is negative or too large to be one.
    """
    return _amount(_bounded(text).split(",")[0])


def read_smallest_amount(text: str) -> int:
    """Return the smallest of the amounts: “Microsoft.Compute/Low3Min;197,Microsoft.Compute/Low30Min;1297” says two.

    Raises:
        NotBelieved: one of them is none, or is negative or too large to be one.
    """
    return min(_amount(element) for element in _bounded(text).split(","))


def _bounded(text: str) -> str:
    if len(text) > LONGEST_TEXT:
        raise NotBelieved("is too long for an amount")
    return text


def _amount(element: str) -> int:
    """Return the first number among the parts: “100;w=60” begins with it, “name;197” ends with it."""
    for part in element.split(";"):
        if AMOUNT.fullmatch(part.strip()):
            return _stored(int(Decimal(part.strip())))
    raise NotBelieved("is no amount")


def _stored(amount: int) -> int:
    if amount > LARGEST_AMOUNT:
        raise NotBelieved("is too large for an amount")
    return amount
