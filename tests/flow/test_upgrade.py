"""A database as earlier versions left it, amid their work, becomes one of this version by `migrate` alone, and its work
goes on. Each file of `upgrades/` is the try-out of such a version, dumped while a run was at work.
"""

import gzip
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from django.db import connection
from psycopg import sql

from project.services import Redis
from tests.processes import Processes, surroundings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400), pytest.mark.django_db(transaction=True)]

DUMPS = sorted((Path(__file__).parent / "upgrades").glob("*.sql.gz"))
WHOLE = sql.SQL("SELECT {} FROM {}")
MANAGE = [sys.executable, "-W", "ignore", "manage.py"]
# What is written anew by whoever comes next, and what a migration of this version may well change.
NOT_COMPARED = {"django_migrations", "project_scanmark", "django_session", "auth_permission", "django_content_type"}


class Upgraded:
    """A database that holds what a dump holds, and this version's commands upon it."""

    def __init__(self, name: str, redis_url: str) -> None:
        self.environ = surroundings()
        self.url = self.environ["DATABASE_URL"].rsplit("/", 1)[0] + f"/{name}"
        self.environ |= {
            "DATABASE_URL": self.url,
            "REDIS_URL": redis_url,
            "DJANGO_SETTINGS_MODULE": "project.settings",
            "SECRET_KEY": "key-of-the-upgrade-test",  # the dumps' secrets are encrypted with it
            "TIDELINE_JOBS": "project.demonstration",
            "TIDELINE_LEASE_SECONDS": "5",
        }

    def load(self, dump: Path) -> None:
        """Write what the dump holds into the empty database."""
        lines = gzip.decompress(dump.read_bytes()).decode().splitlines()
        # psql's own words, and settings that older servers do not know
        statements = "\n".join(line for line in lines if not line.startswith(("\\", "SET ")))
        with psycopg.connect(self.url) as database:
            database.execute(statements.encode())

    def manage(self, *arguments: str) -> str:
        """Run a command of this version, and return what it says."""
        done = subprocess.run([*MANAGE, *arguments], env=self.environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def ask(self, statement: LiteralString | sql.Composed, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows that a statement finds."""
        with psycopg.connect(self.url) as database:
            return database.execute(statement, values).fetchall()

    def columns(self) -> dict[str, list[str]]:
        """Return each table with its columns."""
        found: dict[str, list[str]] = {}
        for table, column in self.ask(
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE table_schema = 'public' ORDER BY table_name, ordinal_position"
        ):
            found.setdefault(table, []).append(column)
        return found

    def rows(self, columns: dict[str, list[str]]) -> dict[str, list[tuple[Any, ...]]]:
        """Return the rows of each table, of these columns."""
        return {
            table: sorted(
                self.ask(WHOLE.format(sql.SQL(", ").join(map(sql.Identifier, names)), sql.Identifier(table))), key=repr
            )
            for table, names in columns.items()
        }


@pytest.fixture(params=DUMPS, ids=lambda dump: str(dump.name).removesuffix(".sql.gz"))
def old(request: pytest.FixtureRequest, redis_server: Redis) -> Iterator[Upgraded]:
    """A database as the dump tells."""
    name = f"upgrade_{connection.settings_dict['NAME']}"
    tell_server("CREATE DATABASE {}", name)
    try:
        upgraded = Upgraded(name, redis_server.url)
        upgraded.load(request.param)
        yield upgraded
    finally:
        tell_server("DROP DATABASE {} WITH (FORCE)", name)


def tell_server(statement: LiteralString, database: str) -> None:
    """Execute what is about a whole database."""
    with psycopg.connect(surroundings()["DATABASE_URL"], autocommit=True) as server:
        server.execute(sql.SQL(statement).format(sql.Identifier(database)))


def test_migrations_keep_every_row_and_its_run_at_work_goes_on(old: Upgraded, processes: Processes) -> None:
    before, rows = old.columns(), old.rows(old.columns())
    (at_work,) = old.ask(
        "SELECT id, stat_date, progress_done FROM scheduler_taskrun WHERE state = 'running' AND progress_done > 0"
    )
    old.manage("migrate", "--no-input")
    kept = kept_columns(before, old.columns())
    assert old.rows(kept) == shortened(rows, before, kept)
    assert old.manage("migrate", "--check") == ""
    assert "secrets are encrypted" in old.manage("rotate_secrets")  # none of them has become unreadable

    for name in ("worker", "runner", "beat"):
        processes.start(name, **old.environ)
    assert_goes_on(old, processes, *at_work)
    fires = "SELECT 1 FROM scheduler_fire"
    processes.wait_until(lambda: len(old.ask(fires)) > len(rows["scheduler_fire"]), seconds=90, what="it fires")


@pytest.mark.parametrize("old", DUMPS[:1], indirect=True)
def test_an_upgrade_can_be_taken_back(old: Upgraded) -> None:
    before, rows = old.columns(), old.rows(old.columns())
    applied = old.ask("SELECT app, max(name) FROM django_migrations WHERE app IN ('project', 'scheduler') GROUP BY app")
    old.manage("migrate", "--no-input")
    for app in ("polling", "quotas", "alerts"):
        old.manage("migrate", app, "zero")
    for app, last in applied:
        old.manage("migrate", app, last)
    kept = {table: names for table, names in before.items() if table not in NOT_COMPARED}
    assert old.rows(kept) == shortened(rows, before, kept)


def assert_goes_on(old: Upgraded, processes: Processes, run: int, stat_date: date, progress: int) -> None:
    """Assert that the run comes to its end under the same day, and never falls back behind where it was."""
    seen: set[int] = set()

    def is_sealed() -> bool:
        ((now_at, day, state, seal),) = old.ask(
            "SELECT progress_done, stat_date, state, seal FROM scheduler_taskrun WHERE id = %s", run
        )
        assert day == stat_date
        seen.add(now_at)
        return state == "done" and bool(seal)

    processes.wait_until(is_sealed, seconds=120, what=f"run #{run} goes on, is done and is sealed")
    assert progress == min(seen)
    assert "it is as it was when it was sealed" in old.manage("verify", f"#{run}")


def kept_columns(before: dict[str, list[str]], after: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the columns that both have, of each table whose rows are compared."""
    return {
        table: [name for name in names if name in after[table]]
        for table, names in before.items()
        if table in after and table not in NOT_COMPARED
    }


def shortened(
    rows: dict[str, list[tuple[Any, ...]]], before: dict[str, list[str]], kept: dict[str, list[str]]
) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows as they were, of the tables and columns that are kept."""
    return {
        table: sorted((pick(row, before[table], names) for row in rows[table]), key=repr)
        for table, names in kept.items()
    }


def pick(row: tuple[Any, ...], columns: list[str], names: list[str]) -> tuple[Any, ...]:
    """Return the values of the columns with these names."""
    return tuple(value for column, value in zip(columns, row, strict=True) if column in names)
