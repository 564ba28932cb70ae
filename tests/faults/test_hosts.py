"""Several hosts, one of which is cut off amid its work and comes back: nothing is lost, and nothing is done twice."""

from collections.abc import Iterator, Sequence

import pytest
from django.db import connection

from project.kit.clock import database_now
from project.services import PostgreSQL
from project.services.postgresql import DATABASE, SOCKET_NAME, USER, socket_folder
from scheduler import schedules
from scheduler.models import Attempt, Schedule, TaskRun
from scheduler.states import RunState
from tests.faults.books import audit_fires, audit_marks, audit_runs
from tests.faults.hosts import BRIDGE_ADDRESS, Host, NoNamespaces, hosts_on_a_bridge
from tests.faults.house import House
from tests.faults.proxy import Proxy

pytestmark = pytest.mark.slow

# The network tries again at intervals that grow with how long it was away.
PATIENCE_SECONDS = 120


@pytest.fixture
def hosts(house: House, own_postgresql: PostgreSQL) -> Iterator[Sequence[Host]]:
    """Three hosts that reach the servers of this one over the network."""
    try:
        with hosts_on_a_bridge(3) as made:
            to_database = Proxy(socket_folder(own_postgresql.state) / SOCKET_NAME, at=BRIDGE_ADDRESS)
            to_redis = Proxy(house.broker.port, at=BRIDGE_ADDRESS)
            house.environ |= {
                "DATABASE_URL": f"postgresql://{USER}@{BRIDGE_ADDRESS}:{to_database.port}/{DATABASE}",
                "REDIS_URL": f"redis://:{house.broker.password}@{BRIDGE_ADDRESS}:{to_redis.port}/0",
            }
            yield made
            house.processes.end()
            to_database.end()
            to_redis.end()
    except NoNamespaces as error:
        pytest.skip(f"no network namespaces can be made here: {error}")


@pytest.mark.timeout(4 * PATIENCE_SECONDS)
def test_a_host_that_is_cut_off_amid_its_work_loses_it_to_another_and_works_again_when_it_is_back(
    house: House, hosts: Sequence[Host]
) -> None:
    for host in hosts:
        host.start(house, "worker", "beat", "runner")
    schedule = house.every(2, "test.items", items=4, seconds=0.1, overlap=Schedule.Overlap.ALLOW)
    first_due = schedule.next_run_at
    assert first_due is not None
    run = house.open(items=40, seconds=0.2)
    house.wait_for_item(run, 3, PATIENCE_SECONDS)
    run.refresh_from_db()
    (lost,) = (host for host in hosts if run.lease_owner.startswith(f"{host.name}:"))

    lost.cut_off()
    house.wait_for(RunState.DONE, run, seconds=PATIENCE_SECONDS)
    lost.rejoin()
    back_at = database_now()
    begun_there = Attempt.objects.filter(worker__startswith=f"{lost.name}:", started_at__gt=back_at)
    house.wait_until(begun_there.exists, PATIENCE_SECONDS, "the host to work again")

    schedules.pause(schedule, now=database_now(), reason="The test has seen enough.")
    unfinished = TaskRun.objects.filter(finished_at__isnull=True)
    house.wait_until(lambda: not unfinished.exists(), PATIENCE_SECONDS, "all runs to end")
    house.close()
    connection.close()
    assert house.outcomes(run) == ["lost", "done"]
    first, second = Attempt.objects.filter(run=run).order_by("number")
    assert first.worker.startswith(f"{lost.name}:")
    assert not second.worker.startswith(f"{lost.name}:")
    audit_fires(schedule, first_due)
    audit_runs()
    for done in TaskRun.objects.all():
        audit_marks(done, house.marks(done))
