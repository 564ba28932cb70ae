"""An amount is a whole number from 1 on, a limit one from 0 on; what is neither is refused in a sentence."""

from decimal import Decimal

import pytest

from quotas.amounts import LARGEST, check_amount, check_limit
from quotas.refusals import BadAmount


@pytest.mark.parametrize("amount", [1, 2, LARGEST])
def test_whole_numbers_from_1_to_the_largest_are_amounts(amount: int) -> None:
    check_amount(amount)


@pytest.mark.parametrize(
    ("amount", "sentence"),
    [
        (0, "An amount is at least 1, not 0; what was charged is given back by a refund."),
        (-5, "An amount is at least 1, not -5; what was charged is given back by a refund."),
        (LARGEST + 1, "An amount is at most 1,000,000,000,000,000."),
        (1.0, "An amount is a whole number, not 1.0; count in a smaller unit instead of fractions."),
        ("5", "An amount is a whole number, not '5'; count in a smaller unit instead of fractions."),
        (True, "An amount is a whole number, not True; count in a smaller unit instead of fractions."),
        (None, "An amount is a whole number, not None; count in a smaller unit instead of fractions."),
    ],
)
def test_what_is_no_amount_is_refused_with_what_to_do_instead(amount: object, sentence: str) -> None:
    with pytest.raises(BadAmount) as refused:
        check_amount(amount)

    assert str(refused.value) == sentence


@pytest.mark.parametrize("limit", [None, 0, 1, LARGEST])
def test_whole_numbers_from_0_to_the_largest_are_limits_and_none_is_unlimited(limit: int | None) -> None:
    check_limit(limit)


@pytest.mark.parametrize("limit", [-1, LARGEST + 1, 1.0, Decimal(5), "5", True, False])
def test_what_is_no_limit_is_refused_in_a_sentence_that_names_it(limit: object) -> None:
    with pytest.raises(BadAmount) as refused:
        check_limit(limit)

    between = "A limit is a whole number from 0 to 1,000,000,000,000,000, or empty for unlimited"
    assert str(refused.value) == f"{between}, not {limit!r}."
