"""A number is a card's if its last digit checks the others; what people and spreadsheets write is understood."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.polling.iccid import BadICCID, check_digit, checked

NUMBER = "89860012345678901238"


@pytest.mark.parametrize(
    "text",
    [
        NUMBER,
        f"  {NUMBER}\t",
        "8986 0012 3456 7890 1238",
        "8986-0012-3456-7890-1238",
        "\u00a089860012345678901238",
    ],
)
def test_spaces_and_dashes_between_the_digits_are_no_part_of_the_number(text: str) -> None:
    assert checked(text) == NUMBER


@pytest.mark.parametrize("digits", ["898600123456789012", "8944500102198304826", NUMBER])
def test_numbers_of_18_to_20_digits_are_taken(digits: str) -> None:
    number = digits[:-1] + check_digit(digits[:-1])
    assert checked(number) == number


def test_a_filling_f_after_19_digits_is_left_out() -> None:
    assert checked("8944500102198304826f") == checked("8944500102198304826")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "The ICCID is missing"),
        (" - ", "The ICCID is missing"),
        ("89860012345678901234", "does not check the others"),
        ("89860012345678901328", "does not check the others"),
        ("12345678901234567897", "does not begin with 89"),
        ("8986001234567890", "has 16 digits"),
        ("898600123456789012345", "has 21 digits"),
        ("8.98600123456789E+19", "A spreadsheet has rounded it"),
        ("8986001234567890123X", "The ICCID “8986001234567890123X” is no number: write its 18 to 20 digits.$"),
        ("８９８６００１２３４５６７８９０１２３３", "is no number"),
        ("898600123456789012FF", "is no number"),
    ],
)
def test_what_is_no_cards_number_is_refused_in_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(BadICCID, match=sentence.replace("+", r"\+")):
        checked(text)


@given(st.text("0123456789", min_size=15, max_size=17), st.data())
def test_one_digit_that_is_mistyped_is_always_found(digits: str, data: st.DataObject) -> None:
    number = f"89{digits}" + check_digit(f"89{digits}")
    at = data.draw(st.integers(2, len(number) - 1))
    other = data.draw(st.sampled_from(sorted(set("0123456789") - {number[at]})))
    with pytest.raises(BadICCID, match="does not check the others"):
        checked(number[:at] + other + number[at + 1 :])
