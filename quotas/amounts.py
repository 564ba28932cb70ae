"""Amounts are whole numbers: a unit too small to be split, or a currency's millionths."""

from quotas.refusals import BadAmount

LARGEST = 2**62


def check_amount(amount: object) -> None:
    """Refuse what is no whole number from 1 on.

    Raises:
        BadAmount: with a sentence.
    """
    if not isinstance(amount, int) or isinstance(amount, bool):
        raise BadAmount(f"An amount is a whole number, not {amount!r}; count in a smaller unit instead of fractions.")
    if amount <= 0:
        raise BadAmount(f"An amount is at least 1, not {amount}; what was charged is given back by a refund.")
    if amount > LARGEST:
        raise BadAmount(f"An amount is at most {LARGEST:,}.")
