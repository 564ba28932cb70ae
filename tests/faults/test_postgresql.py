"""PostgreSQL is restarted, killed and cut off under Tideline: no run fails, and nothing is done twice."""

import os
import platform
import signal
import socket

import psycopg
import pytest
from django.db import connection
from django.db.models import Sum
from django_celery_beat.schedulers import SCHEDULE_SYNC_MAX_INTERVAL as REREAD_SECONDS

from project.models import ScanMark
from project.services import PostgreSQL
from project.services.postgresql import SOCKET_NAME, socket_folder
from scheduler.models import TaskRun
from scheduler.states import RunState
from tests.faults.clocks import SteppedClock
from tests.faults.house import LONG_LEASE, House
from tests.faults.proxy import Proxy
from tests.processes import cut_sessions, lives

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_postgresql")]


def test_a_restart_between_tasks_fails_none(own_postgresql: PostgreSQL, house: House) -> None:
    house.scanners()
    house.runner()
    before = [house.open(items=1) for _ in range(10)]
    house.wait_for(RunState.DONE, *before)

    restart(own_postgresql, signal.SIGINT)
    after = [house.open(items=1) for _ in range(10)]

    house.wait_for(RunState.DONE, *after)
    assert not TaskRun.objects.filter(failure_count__gt=0).exists()
    assert [house.outcomes(run) for run in after] == [["done"]] * 10


def test_a_crash_amid_a_job_fails_nothing_and_doubles_nothing(own_postgresql: PostgreSQL, house: House) -> None:
    house.scanners()
    house.runner(**LONG_LEASE)  # a busy machine takes long to start the server again
    run = house.open(seconds=0.3)
    house.wait_for_item(run, 3)

    restart(own_postgresql, signal.SIGQUIT)

    house.wait_for(RunState.DONE, run)
    assert house.outcomes(run) == ["done"]
    assert house.items(run) == list(range(1, 11))


def test_a_database_that_is_away_for_longer_than_a_lease_interrupts_the_run_and_fails_nothing(
    own_postgresql: PostgreSQL, house: House
) -> None:
    house.scanners()
    house.runner()
    run = house.open(seconds=0.3)
    house.wait_for_item(run, 3)
    child = house.marks(run)[0]["pid"]

    own_postgresql.stop()
    house.processes.wait_until(lambda: not lives(child), what="the job to be stopped with its lease")
    connection.close()
    own_postgresql.launch()

    house.wait_for(RunState.DONE, run)
    assert house.outcomes(run) == ["lost", "done"]
    assert set(house.items(run)) == set(range(1, 11))
    assert len(house.items(run)) <= 11  # the one that was taken and could not be saved


def test_cut_sessions_fail_nothing_and_double_nothing(house: House) -> None:
    house.scanners()
    house.runner()
    runs = [house.open(seconds=0.2), house.open(seconds=0.2)]

    for item in (2, 4, 6, 8):
        house.wait_for_item(runs[0], item)
        cut_sessions()

    house.wait_for(RunState.DONE, *runs)
    for run in runs:
        assert house.outcomes(run) == ["done"]
        assert house.items(run) == list(range(1, 11))


def test_a_beat_that_reads_its_rows_again_while_the_database_is_away_goes_on(
    own_postgresql: PostgreSQL, house: House, stepped_clock: SteppedClock
) -> None:
    house.start("worker")
    (beat,) = house.start("beat", **stepped_clock.environ)
    house.wait_until(lambda: asked_by_beat() >= 2, what="beat to ask for scans")
    asked = asked_by_beat()

    own_postgresql.stop()
    connection.close()
    stepped_clock.step(REREAD_SECONDS + 1)
    house.wait_until(lambda: "goes on with the scans it knows" in beat.output, what="the reload")
    own_postgresql.launch()

    house.wait_until(lambda: asked_by_beat() > asked, what="beat to ask for scans again")
    assert beat.runs()


def test_tasks_share_their_sessions(house: House) -> None:
    house.scanners()
    house.runner()
    house.wait_for(RunState.DONE, *[house.open(items=1) for _ in range(10)])

    before = sessions_so_far()
    house.wait_for(RunState.DONE, *[house.open(items=1) for _ in range(100)])

    assert sessions_so_far() - before < 10


@pytest.mark.skipif(platform.system() != "Linux", reason="each system names these options of a socket differently")
def test_a_server_that_went_away_without_a_word_is_given_up_within_half_a_minute(own_postgresql: PostgreSQL) -> None:
    proxy = Proxy(socket_folder(own_postgresql.state) / SOCKET_NAME)
    over_tcp = connection.get_connection_params() | {"host": "127.0.0.1", "port": proxy.port}
    with psycopg.connect(**over_tcp) as session, socket.socket(fileno=os.dup(session.fileno())) as kernel:
        asked = [socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT]
        idle, interval, count = (kernel.getsockopt(socket.IPPROTO_TCP, option) for option in asked)
        unanswered = kernel.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) / 1000
    proxy.end()
    assert 0 < idle + count * interval <= 30, "who has asked and waits"
    assert 0 < unanswered <= 30, "who is still asking"


def restart(server: PostgreSQL, how: signal.Signals) -> None:
    """Restart the server: SIGINT rolls back and ends its sessions, SIGQUIT drops them as a crash does."""
    assert server.process is not None
    server.process.send_signal(how)
    server.process.wait()
    connection.close()
    server.launch()


def asked_by_beat() -> int:
    """Return how many scans beat asked for that were done."""
    return int(ScanMark.objects.aggregate(total=Sum("beat_count", default=0))["total"])


def sessions_so_far() -> int:
    """Return how many sessions the database has seen."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT sessions FROM pg_stat_database WHERE datname = current_database()")
        (sessions,) = cursor.fetchone()
    return int(sessions)
