"""Nothing is kept in a session of PostgreSQL, which PgBouncer lends for one transaction only."""

import re

import pytest
from django.db import connection

from tests.deploy.documents import ROOT

OF_A_SESSION = re.compile(
    r"pg_(?:try_)?advisory_(?!xact)|\bLISTEN\s+\w|CREATE\s+TEMP|set_config\(|WITH\s+HOLD|"
    r"\bSET\s+(?:SESSION|ROLE|TIME\s+ZONE|search_path|work_mem|\w+_timeout)\b"
)


def statements() -> dict[str, list[str]]:
    """Return by file what would need a session, of the code that runs in production."""
    files = [file for app in ("alerts", "quotas", "scheduler", "project") for file in (ROOT / app).rglob("*.py")]
    found = {str(file.relative_to(ROOT)): OF_A_SESSION.findall(file.read_text()) for file in files}
    return {file: words for file, words in found.items() if words}


def test_no_statement_needs_a_session() -> None:
    assert statements() == {}


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT pg_advisory_lock(1)",
        "SELECT pg_try_advisory_lock(1)",
        "LISTEN changes",
        "SET lock_timeout = '1s'",
        "SET SESSION CHARACTERISTICS",
        "CREATE TEMP TABLE t",
        "SELECT set_config('a', 'b', false)",
    ],
)
def test_the_rule_above_knows_what_needs_one(statement: str) -> None:
    assert OF_A_SESSION.search(statement)


@pytest.mark.parametrize("statement", ["SET LOCAL lock_timeout = '1s'", "UPDATE t SET state = 'done'"])
def test_the_rule_above_lets_pass_what_needs_none(statement: str) -> None:
    assert not OF_A_SESSION.search(statement)


@pytest.mark.django_db
def test_psycopg_prepares_no_statement_and_django_opens_no_cursor_of_the_server() -> None:
    connection.ensure_connection()
    assert connection.connection.prepare_threshold is None
    assert connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"] is True
