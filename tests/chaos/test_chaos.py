"""All four parts at once, harmed at random; then calm, and the audit. `bin/chaos` makes it longer and different."""

import os
from pathlib import Path

import pytest
from django.db import connection

from alerts.models import Delivery
from alerts.states import DeliveryState
from project.services import PostgreSQL, Redis
from quotas.models import Edge
from scheduler.polling.cutover import standing, switching
from scheduler.polling.system_settings import Mode
from tests.chaos import campaign, sabotage
from tests.chaos.blows import Chaos
from tests.chaos.books import Audit, work_done
from tests.chaos.people import People
from tests.chaos.report import Report
from tests.chaos.site import Site, site_at_work
from tests.chaos.watch import Watch
from tests.chaos.work import Work, lay_down_work
from tests.faults.polling_books import answered_since
from tests.faults.test_polling_campaign import wait_until_all_are_polled
from tests.processes import Processes

# Enough for most kinds of harm.
SECONDS = float(os.environ.get(campaign.SECONDS, "60"))
SEED = int(os.environ.get(campaign.SEED, "1"))
REPORT_FILE = os.environ.get(campaign.REPORT, "")
# Until all that was begun has come to its end, once nobody does harm any more: what queues up meanwhile takes its time.
HEALING_SECONDS = 180.0 + SECONDS / 2


@pytest.mark.slow
@pytest.mark.timeout(2 * SECONDS + 6 * HEALING_SECONDS)
def test_whatever_is_done_to_all_parts_at_once_the_books_are_right_afterwards(
    own_postgresql: PostgreSQL, redis_server: Redis, processes: Processes, tmp_path: Path
) -> None:
    with site_at_work(processes, redis_server, own_postgresql, tmp_path) as site:
        work, watch = lay_down_work(site), Watch()
        people, chaos = People(work, SEED), Chaos(site, SEED)
        site.wait_until(lambda: answered_since(work.begun_at), HEALING_SECONDS, "the pollers to begin")
        wait_until_all_are_polled(site, watch.ledger)

        def between_two_blows() -> None:
            people.act()
            watch.look()

        chaos.rage_beside(between_two_blows, SECONDS)
        print("\n", *chaos.story, sep="\n")  # shown if what follows fails
        chaos.calm()
        come_to_an_end(site, work, people, chaos, watch)
        audit = Audit(site, work, people, watch, chaos.struck)
        figures, sabotages = audit.figures(), sabotage.tried(audit)

    report = Report(SEED, SECONDS, chaos.counted, work_done(site.marks_by_run()), figures)
    print(report.as_text())
    print(f"\n{len(sabotages)} ways to break these books were tried; the audit noticed {sum(sabotages.values())}.")
    if REPORT_FILE:
        report.save(Path(REPORT_FILE))
    assert not report.faults
    assert all(sabotages.values()), sabotages


def come_to_an_end(site: Site, work: Work, people: People, chaos: Chaos, watch: Watch) -> None:
    """Let all that was begun end, by itself or by what people do, and the way of accounts decide again."""
    people.end_the_work()
    site.wait_until(people.help_what_waits, HEALING_SECONDS, "all runs to end")
    wait_until_all_are_polled(site, watch.ledger)
    if standing.now_holds() != standing.Standing(Mode.CARRIER):
        chaos.cut_over()
        site.wait_until(lambda: not switching.under_way(), HEALING_SECONDS, "the way of accounts to decide again")
        wait_until_all_are_polled(site, watch.ledger)
    unfinished = Delivery.objects.filter(channel=work.channel, state__in=[DeliveryState.WAITING, DeliveryState.SENDING])
    site.wait_until(lambda: not unfinished.exists(), HEALING_SECONDS, "all to be told")
    unhandled = Edge.objects.filter(handled_at__isnull=True)
    site.wait_until(lambda: not unhandled.exists(), HEALING_SECONDS, "all edges to be handled")
    site.close()
    connection.close()
