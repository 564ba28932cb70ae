"""Amounts are whole numbers: a unit too small to be split, or a currency's millionths."""

from quotas.refusals import BadAmount

# A thousand million of a currency's units in millionths; sums of thousands of them fit into the database's bigint.
LARGEST = 10**15


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


def check_limit(limit: object) -> None:
    """Refuse what is neither a whole number from 0 on nor None, unlimited.

    Raises:
        BadAmount: with a sentence.
    """
    if limit is None:
        return
    if not isinstance(limit, int) or isinstance(limit, bool) or not 0 <= limit <= LARGEST:
        raise BadAmount(f"A limit is a whole number from 0 to {LARGEST:,}, or empty for unlimited, not {limit!r}.")
