"""What an attempt printed: its end is kept, and is in the row about a second after it was said."""

import threading
from typing import Any

import pytest
from django.db import OperationalError, transaction

from scheduler.jobs.output import KEPT_BYTES, REPLACEMENT, Output
from scheduler.models import Attempt
from scheduler.states import AttemptOutcome, RunState
from tests.scheduler.factories import NOW, make_run

DROPPED = "[the beginning was dropped]\n"
flushed = pytest.mark.django_db(transaction=True)


def said(*texts: str | bytes) -> str:
    """Return what is kept of the texts; there is no row to write to."""
    output = Output(0, 1)
    output.refresh = lambda: None  # type: ignore[method-assign]
    for text in texts:
        output.write(text)
    return output.text


def row_output() -> str:
    """Return what the only attempt's row says."""
    return Attempt.objects.get().output


# --- what is kept -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, KEPT_BYTES - 1, KEPT_BYTES])
def test_up_to_64_kib_are_kept_as_they_are(length: int) -> None:
    assert said("x" * length) == "x" * length


@pytest.mark.parametrize("pieces", [1, 7, 100])
def test_of_more_than_that_the_end_is_kept_and_a_line_says_so(pieces: int) -> None:
    text = "".join(f"{number:07d}\n" for number in range(20_000))
    step = len(text) // pieces
    cut = [text[start : start + step] for start in range(0, len(text), step)]
    assert said(*cut) == DROPPED + text[-KEPT_BYTES:]


@pytest.mark.parametrize("before", range(4))
def test_a_cut_through_a_character_leaves_no_half_of_it(before: int) -> None:
    text = "x" * before + "数" * KEPT_BYTES
    kept = said(text)
    assert kept.startswith(DROPPED)
    assert set(kept.removeprefix(DROPPED)) == {"数"}
    assert len(kept.encode()) <= KEPT_BYTES + len(DROPPED)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\x00b", f"a{REPLACEMENT}b"),
        (b"a\x00b", f"a{REPLACEMENT}b"),
        (b"caf\xe9", f"caf{REPLACEMENT}"),
        ("lone \udcff", "lone ?"),
        (b"", ""),
        ("数据 🙂", "数据 🙂"),
    ],
)
def test_what_no_text_column_can_hold_is_replaced(text: str | bytes, kept: str) -> None:
    assert said(text) == kept


def test_a_character_that_comes_in_two_pieces_is_whole() -> None:
    first, second = "数".encode()[:1], "数".encode()[1:]
    assert said(first, second) == "数"


# --- when it is written -------------------------------------------------------------------------------------------


@flushed
def test_it_is_written_when_a_second_has_passed_since_the_last_time(clock: list[float]) -> None:
    make_run(RunState.RUNNING)
    output = Output(Attempt.objects.get().run_id, 1)
    output.write("one ")
    clock[0] += 0.99
    output.write("two ")
    assert row_output() == ""
    clock[0] += 0.02
    output.write("three ")
    assert row_output() == "one two three "
    output.write("four")
    assert row_output() == "one two three "
    clock[0] += 1
    output.refresh()
    assert row_output() == "one two three four"


@flushed
def test_it_is_written_at_once_when_it_is_flushed_and_only_if_there_is_something_new(
    django_assert_num_queries: Any,
) -> None:
    run = make_run(RunState.RUNNING)
    output = Output(run.pk, 1)
    output.write("one")
    output.flush()
    assert row_output() == "one"
    with django_assert_num_queries(0):
        output.flush()


@flushed
def test_the_output_of_an_attempt_that_has_ended_does_not_change() -> None:
    run = make_run(RunState.RUNNING)
    Attempt.objects.filter(run=run).update(outcome=AttemptOutcome.LOST, finished_at=NOW, output="before")
    output = Output(run.pk, 1)
    output.write("after")
    output.flush()
    assert row_output() == "before"


@flushed
def test_amid_a_transaction_of_the_job_it_waits() -> None:
    run = make_run(RunState.RUNNING)
    output = Output(run.pk, 1)
    with transaction.atomic():
        output.write("one")
        output.flush()
        assert row_output() == ""
    output.flush()
    assert row_output() == "one"


@flushed
def test_another_thread_may_write_but_leaves_the_flushing_to_the_first(clock: list[float]) -> None:
    run = make_run(RunState.RUNNING)
    output = Output(run.pk, 1)
    clock[0] += 2
    writer = threading.Thread(target=output.write, args=["from a thread"])
    writer.start()
    writer.join()
    assert (output.text, row_output()) == ("from a thread", "")
    output.flush()
    assert row_output() == "from a thread"


@flushed
def test_a_database_that_is_away_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(RunState.RUNNING)
    output = Output(run.pk, 1)
    output.write("one")
    with monkeypatch.context() as outage:
        outage.setattr("django.db.models.query.QuerySet.update", _away)
        output.flush()
    output.flush()
    assert row_output() == "one"


def _away(*args: Any, **kwargs: Any) -> Any:
    raise OperationalError("the database is away")
