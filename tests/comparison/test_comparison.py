"""What docs/comparison.md states for Tideline is what our code answers; the peers are not asked."""

import pytest

from tests.comparison import tables, tideline
from tests.comparison.cases import CASES
from tests.comparison.faults import RIGHT
from tests.comparison.page import OURS, PAGE


def rows(first_head: str) -> list[list[str]]:
    """Return the cells of the page's table that begins with this head, up to our column, the head first."""
    lines = PAGE.read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"| {first_head} |"))
    table = lines[start : lines.index("", start)]
    cells = [line.strip("| ").split(" | ") for line in table if not line.startswith("| ---")]
    return [row[: cells[0].index(OURS) + 1] for row in cells]


def test_no_two_cases_have_one_name() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


def test_the_page_states_for_every_expression_what_our_code_answers() -> None:
    answers = tideline.cron_answers()
    now = [[*tables.given(case), tables.cell(case, answers[case.name])] for case in CASES]
    assert rows("expression")[1:-1] == now


def test_our_answer_to_every_expression_is_right() -> None:
    answers = tideline.cron_answers()
    assert {tables.cell(case, answers[case.name]).partition(":")[0] for case in CASES} == {"right"}


@pytest.mark.django_db
def test_the_page_states_for_every_fault_what_our_code_does() -> None:
    seen = tideline.seen_of_faults()
    now = [[name, right.words, right.verdict(seen[name])] for name, right in RIGHT.items()]
    assert rows("what is done")[1:] == now


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ({"instants": []}, "wrong: leaves out 7 Jun 08:00+00:00, 14 Jun 08:00+00:00"),
        ({"instants": ["2026-06-07T08:00+00:00"] * 2 + ["2026-06-14T08:00+00:00"]}, "wrong: names them in another"),
        ({"refused": "ValueError"}, "policy: refused (ValueError)"),
        ({"left_out": True}, "wrong: accepted when saved, then left out"),
    ],
)
def test_an_answer_that_parts_from_the_rule_is_not_called_right(answer: dict[str, object], verdict: str) -> None:
    sundays = next(case for case in CASES if case.cron == "0 8 * * 7")
    assert tables.cell(sundays, answer).startswith(verdict)
