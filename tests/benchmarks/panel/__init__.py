"""The control panel over a system of some size: how long the server takes for each page, and with how many queries."""

from dataclasses import replace
from io import StringIO

from tests.benchmarks import servers
from tests.benchmarks.measuring import Measurement, Options
from tests.benchmarks.panel.history import Size, fill


def measure(options: Options) -> list[Measurement]:
    """Lay down the history of as many runs as the size says, and all else in proportion; then ask for every page."""
    from tests.benchmarks.panel.asking import measure_pages

    lay_down(sized(options.size or Size().runs))
    return measure_pages(options.rounds)


def sized(runs: int) -> Size:
    """Return the size of a system with so many runs."""
    usual = Size()
    part = runs / usual.runs
    return replace(
        usual,
        runs=runs,
        schedules=max(int(usual.schedules * part), usual.busy),
        cards=int(usual.cards * part),
        alerts=int(usual.alerts * part),
        entries=int(usual.entries * part),
    )


def lay_down(size: Size) -> None:
    """Fill empty tables, and bring the live order of the cards into Redis."""
    from django.core.management import call_command
    from django.db import connection, transaction

    from project.kit.clock import database_now

    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")  # the rows fit together: no need to check
        fill(size, database_now())
    servers.refresh_statistics()
    call_command("polling_init", "--json", stdout=StringIO())
