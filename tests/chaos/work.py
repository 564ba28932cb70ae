"""What the installation has to do in a campaign: schedules, quotas, cards and a channel, as rows."""

import time
from dataclasses import dataclass, field
from datetime import datetime

from alerts.models import Channel
from project.kit.clock import database_now
from quotas import defining
from quotas.models import Quota
from quotas.states import Kind
from scheduler.models import Schedule
from scheduler.polling.models import CarrierAccount
from tests.audit import A_MOMENT, Stretch
from tests.benchmarks.polled import count_anew, lay_down
from tests.chaos.site import CALLS_A_SECOND, FREE, LIMITED, Site
from tests.faults.test_deliveries import make_channel
from tests.scheduler.polling.factories import make_tier
from tests.scheduler.polling.fleets import put_in_order

CARDS = 20  # of each account
SPENT_A_RUN = 4
SCARCE, CREDIT = "scarce", "credit"


@dataclass
class Plan:
    """A schedule, and the triggers that it has had until now.

    Attributes:
        since: the first instant that the present trigger may fire.
        before: the stretches of earlier triggers.
    """

    schedule: Schedule
    since: datetime
    before: list[Stretch] = field(default_factory=list)

    def stretches(self) -> list[Stretch]:
        """Return the stretches up to the next instant, which is still ahead."""
        self.schedule.refresh_from_db()
        assert self.schedule.next_run_at is not None
        return [*self.before, Stretch(self.schedule.as_trigger(), self.since, self.schedule.next_run_at - A_MOMENT)]


@dataclass
class Work:
    """The rows of a campaign.

    Attributes:
        plans: of all schedules, by what they are for.
        begun_at: when it was laid down.
        counting_since: when the carrier began to count its calls, by the monotonic clock.
    """

    plans: dict[str, Plan]
    channel: Channel
    accounts: list[CarrierAccount]
    begun_at: datetime
    counting_since: float


def lay_down_work(site: Site) -> Work:
    """Insert everything; it begins at once."""
    begun_at = database_now()
    accounts = _lay_down_cards(site)
    count_anew(site.carrier)
    counting_since = time.monotonic()
    channel = make_channel("the campaign's", site.receiver)
    plans = {what: _plan_of(schedule) for what, schedule in _make_schedules(site, _make_quotas()).items()}
    return Work(plans, channel, accounts, begun_at, counting_since)


def _make_quotas() -> dict[str, Quota]:
    """Create a rate that gives less than what is wanted of it, and a credit that somebody has to top up."""
    now = database_now()
    rate = {"refill_amount": 1, "refill_seconds": 3, "stable_seconds": 1}
    return {
        SCARCE: defining.create(key=SCARCE, kind=Kind.RATE, limit=SPENT_A_RUN, now=now, **rate),
        CREDIT: defining.create(key=CREDIT, kind=Kind.CAPACITY, limit=3 * SPENT_A_RUN, spread_seconds=0, now=now),
    }


def _make_schedules(site: Site, quotas: dict[str, Quota]) -> dict[str, Schedule]:
    allow, queue, skip = Schedule.Overlap.ALLOW, Schedule.Overlap.QUEUE, Schedule.Overlap.SKIP
    spending = {"items": SPENT_A_RUN}
    return {
        "one mark": site.every(1, "test.one", overlap=allow),
        "items, overlapping": site.every(3, "test.items", items=6, seconds=0.1, overlap=allow),
        "items, one after another": site.every(8, "test.items", items=6, seconds=0.1, overlap=queue),
        "edited": site.every(2, "test.items", items=3, seconds=0.1, overlap=skip),
        "failing": site.every(7, "test.raises", retry_delays=[1], overlap=queue),
        "asking": site.every(5, "test.asks", items=4, ask_before=3, overlap=allow),
        SCARCE: site.every(3, "test.spends", of=SCARCE, quota=quotas[SCARCE], overlap=skip, **spending),
        CREDIT: site.every(4, "test.spends", of=CREDIT, overlap=allow, **spending),
    }


def _plan_of(schedule: Schedule) -> Plan:
    assert schedule.next_run_at is not None
    return Plan(schedule, since=schedule.next_run_at)


def _lay_down_cards(site: Site) -> list[CarrierAccount]:
    """Insert two accounts of which the limited one is asked for more than it allows."""
    make_tier(usage_seconds=2, card_status_seconds=2)
    limits = {LIMITED: [{"limit": CALLS_A_SECOND, "seconds": 1}], FREE: []}
    accounts = [lay_down(site.carrier, name, CARDS, rate_windows=windows) for name, windows in limits.items()]
    for account in accounts:
        put_in_order(account)
    return accounts
