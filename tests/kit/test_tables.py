"""Tables are cut to the reader's terminal so that each word can be read."""

import pytest

from project.kit import tables
from project.kit.tables import table

HEADINGS = ("ACCOUNT", "STANDING", "CARDS", "LIMIT", "WANTED")
ROWS = [
    ("Fine Mobile", "polled", "800", "10/s", "16 %"),
    ("Strict Mobile", "stopped", "12,400", "5/s + 120/min", "165 %"),
]
FIGURES = ("CARDS", "WANTED")


def lines_at(width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(tables, "FILE_WIDTH", width)
    return table(HEADINGS, ROWS, FIGURES)


def test_a_row_is_a_line_where_it_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines_at(55, monkeypatch) == [
        "ACCOUNT        STANDING   CARDS  LIMIT          WANTED",
        "Fine Mobile    polled       800  10/s             16 %",
        "Strict Mobile  stopped   12,400  5/s + 120/min   165 %",
    ]


def test_the_widest_text_is_folded_before_columns_are_parted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "FILE_WIDTH", 30)
    assert table(("#", "WHY"), [("1", "Waits for the quota that is used up")]) == [
        "#  WHY",
        "1  Waits for the quota that is",
        "   used up",
    ]


@pytest.mark.parametrize("width", [30, 40])
def test_what_does_not_fit_goes_on_below_with_the_first_column_again(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = lines_at(width, monkeypatch)
    parts = "\n".join(lines).split("\n\n")
    assert len(parts) > 1
    assert all(part.startswith("ACCOUNT ") for part in parts)
    shown = {word for line in lines for word in line.split()}
    assert shown == {word for row in (HEADINGS, *ROWS) for cell in row for word in cell.split()}
    assert max(map(len, lines)) <= width


def test_a_table_without_rows_has_its_headings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert table(("A", "B"), []) == ["A  B"]


def test_no_word_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "…" not in "".join("".join(lines_at(width, monkeypatch)) for width in range(30, 60))
