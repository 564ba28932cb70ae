"""Statements that are planned once a session."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from django.db import IntegrityError, ProgrammingError, connection, transaction

from project.kit import prepared
from project.kit.prepared import Statement, execute_together

pytestmark = pytest.mark.django_db(transaction=True)

SUM = Statement("SELECT %s::int + %s::int")


@pytest.fixture(autouse=True)
def fresh_session(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(prepared, "_sessions_are_lent", False)
    connection.close()
    yield
    connection.close()


def total(statement: Statement = SUM, *values: int) -> int:
    """Execute the statement with the values, by default 2 and 3, and return its answer."""
    with connection.cursor() as cursor:
        statement.execute(cursor, values or (2, 3))
        (answer,) = cursor.fetchone()
    return int(answer)


def prepared_texts() -> list[str]:
    """Return what the session has prepared."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        return [text for (text,) in cursor.fetchall()]


def test_a_statement_is_prepared_once_in_a_session() -> None:
    assert [total(), total(SUM, 10, 20)] == [5, 30]
    assert len(prepared_texts()) == 1


@pytest.mark.parametrize("way", [nullcontext, transaction.atomic], ids=["prepared", "as it is"])
def test_a_value_that_is_named_in_several_places_is_in_all_of_them(way: Callable[[], Any]) -> None:
    statement = Statement("SELECT %(less)s::int - %(more)s::int + 10 * %(more)s::int")
    with way(), connection.cursor() as cursor:
        statement.execute(cursor, {"more": 3, "unasked": 99, "less": 2})
        assert cursor.fetchone() == (29,)


def test_a_value_that_is_named_in_several_places_is_sent_once() -> None:
    statement = Statement("SELECT %(more)s::int + %(more)s::int")
    assert statement.call.count("%s") == 1
    assert statement.values_of_call({"more": 3}) == [3]


def test_a_new_session_prepares_it_anew() -> None:
    total()
    connection.close()
    assert total() == 5
    assert len(prepared_texts()) == 1


def test_within_a_transaction_nothing_is_prepared() -> None:
    with transaction.atomic():
        assert total() == 5
        assert prepared_texts() == []


def test_behind_a_pooler_that_lends_another_session_the_statement_is_sent_as_it_is_from_then_on() -> None:
    total()
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")  # as another session, which never had it
    assert total() == 5
    assert total() == 5
    assert prepared_texts() == []


def test_a_session_that_has_it_from_another_client_executes_it() -> None:
    total()
    prepared._prepared.clear()  # as another process, to which the pooler lends the same session
    assert total() == 5
    assert len(prepared_texts()) == 1


def test_two_statements_never_share_a_name() -> None:
    assert total(Statement("SELECT %s::int - %s::int")) == -1
    assert total() == 5


def test_an_error_of_the_statement_itself_is_passed_on() -> None:
    with pytest.raises(ProgrammingError), connection.cursor() as cursor:
        Statement("SELECT no_such_column + %s::int").execute(cursor, [1])


def test_statements_together_give_their_rows_one_after_another() -> None:
    for _ in range(2):
        with connection.cursor() as cursor:
            execute_together(cursor, (SUM, [2, 3]), (Statement("SELECT %s::text"), ["two"]))
            assert cursor.fetchall() == [(5,)]
            assert cursor.nextset()
            assert cursor.fetchall() == [("two",)]
    assert len(prepared_texts()) == 2


def test_of_statements_together_none_is_done_when_one_fails() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE noted (number int CHECK (number > 0))")
        note = Statement("INSERT INTO noted VALUES (%s)")
        with pytest.raises(IntegrityError):
            execute_together(cursor, (note, [1]), (note, [-1]))
        cursor.execute("SELECT count(*) FROM noted")
        assert cursor.fetchone() == (0,)


def test_statements_together_survive_a_pooler_that_lends_another_session() -> None:
    both = (SUM, [2, 3]), (Statement("SELECT %s::int"), [7])
    with connection.cursor() as cursor:
        execute_together(cursor, *both)
        cursor.execute("DEALLOCATE ALL")
        execute_together(cursor, *both)
        assert cursor.fetchall() == [(5,)]
