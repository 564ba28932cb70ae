"""Amounts of data as carriers write them, in whole bytes."""

from decimal import Decimal, InvalidOperation

# 1024 or 1000, as the carrier counts; those with an i are always of 1024.
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
# What a row's column can hold.
MOST_BYTES = 2**63 - 1
MOST_DIGITS = len(str(MOST_BYTES))


class NoAmount(ValueError):
    """It is no amount of data; the text says why, as the end of a sentence."""


def to_bytes(value: object, unit: str, thousand: int) -> int:
    """Return the amount in bytes, rounded to a whole one.

    Args:
        value: a number, or the text of one.
        unit: B, KB, MB, GB or TB, also without the B or with an i; in capitals or not.
        thousand: how many bytes a KB has, 1024 or 1000.

    Raises:
        NoAmount: it is none, or below zero, or of a unit that is not known.
    """
    return _whole(_number(value) * _factor(unit, thousand))


def used_of(allowance: object, left: object, unit: str, thousand: int) -> int:
    """Return in bytes how much of the allowance is used where so much of it is left; below zero: more than all.

    Raises:
        NoAmount: as `to_bytes`.
    """
    return _whole((_number(allowance) - _number(left)) * _factor(unit, thousand))


def is_unit(unit: str) -> bool:
    """Tell whether the unit is one that `to_bytes` knows."""
    return unit.lower().removesuffix("b").removesuffix("i") in _POWERS


def _whole(amount: Decimal) -> int:
    if not 0 <= amount <= MOST_BYTES:
        raise NoAmount("it is below zero or too large")
    return int(amount.to_integral_value())


def _number(value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise NoAmount("it is no number")
    try:
        number = Decimal(str(value).strip())
    except (InvalidOperation, ValueError):
        raise NoAmount("it is no number") from None
    if not number.is_finite() or number.adjusted() > MOST_DIGITS:
        raise NoAmount("it is no number that could be right")
    return number


def _factor(unit: str, thousand: int) -> int:
    prefix = unit.strip().lower().removesuffix("b")
    if prefix.removesuffix("i") not in _POWERS:
        raise NoAmount("its unit is none of B, KB, MB, GB and TB")
    return int((1024 if prefix.endswith("i") else thousand) ** _POWERS[prefix.removesuffix("i")])
