"""Statements that are planned once a session."""

from collections.abc import Iterator

import pytest
from django.db import ProgrammingError, connection, transaction

from project.kit import prepared
from project.kit.prepared import Statement

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
