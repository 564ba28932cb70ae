"""How far something is: a bar for a terminal, a line a change for everything else."""

import io

from scheduler.management.following import Glance, follow, shown_on


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_elsewhere_than_on_a_terminal_a_line_is_written_when_it_says_something_new() -> None:
    stream = io.StringIO()
    with shown_on(stream) as show:
        for done in range(0, 101):
            show(Glance("Running:", done, 100))
        show(Glance("Done."))
    lines = stream.getvalue().splitlines()
    assert lines == ["Running: 0 of 100", *(f"Running: {tens} of 100" for tens in range(10, 101, 10)), "Done."]


def test_on_a_terminal_a_bar_shows_the_number_of_the_total_and_markup_is_text() -> None:
    stream = Terminal()
    with shown_on(stream) as show:
        show(Glance("[bold]Run[/bold]", 5, 20))
    assert "[bold]Run[/bold]" in stream.getvalue()
    assert "5/20" in stream.getvalue()


def test_what_has_ended_is_not_waited_for() -> None:
    stream = io.StringIO()
    follow(lambda: Glance("Done.", ended=True), stream)
    assert stream.getvalue() == "Done.\n"
