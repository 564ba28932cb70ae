"""Which runs wait for a quota, as its admission and its page ask for them."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse

from quotas import evaluating
from quotas.admission import Waiting
from quotas.models import Quota
from quotas.waiting import WaitingWork
from scheduler.models import Pause, QuotaWait, TaskRun
from scheduler.states import EXCLUSIVE, RunState


@dataclass(slots=True)
class PausedRun:
    """A paused run and what it waits for.

    Attributes:
        tenant: whose turn it takes: its schedule, or its job where it has none.
        amounts: units by the id of the quota that refused them.
    """

    run_id: int
    schedule_id: int | None
    tenant: str
    title: str
    reason: str
    priority: int
    since: datetime
    not_before: datetime | None
    held: str
    amounts: dict[int, int] = field(default_factory=dict)

    def as_waiting(self, chains: dict[int, list[int]]) -> Waiting:
        """Return what it needs in each quota, those that they are part of included."""
        needs: dict[int, int] = {}
        for quota_id, amount in self.amounts.items():
            for link in chains[quota_id]:
                needs[link] = needs.get(link, 0) + amount
        return Waiting(owner_of(self.run_id), self.tenant, self.priority, self.since, needs)


def owner_of(run_id: int) -> str:
    """Return the text key under which quotas know a run."""
    return f"run:{run_id}"


def run_of(owner: str) -> int:
    """Return the id of the run which quotas know under the text key."""
    return int(owner.removeprefix("run:"))


def page_of_run(number: str) -> str:
    """Return the address of a run's page, by what its key has behind the colon; registered with quotas.owners."""
    return reverse("admin:scheduler_taskrun_change", args=[number])


def below(quota_id: int) -> QuerySet[Quota]:
    """Return the quota and those that are part of it."""
    return Quota.objects.filter(Q(pk=quota_id) | Q(ancestors__contains=[quota_id]))


def waiting_below(quota_id: int) -> QuerySet[QuotaWait]:
    """Return all waits of the paused runs that wait for the quota or for one that is part of it."""
    runs = QuotaWait.objects.filter(quota__in=below(quota_id)).values("run")
    return QuotaWait.objects.filter(run__in=runs, run__state=RunState.PAUSED)


def free_to_go(waits: QuerySet[QuotaWait], now: datetime) -> QuerySet[QuotaWait]:
    """Leave out runs that are held, delayed or to be cancelled, or would run at once with another of their exclusive
    key.
    """
    same_key = TaskRun.objects.filter(exclusive_key=OuterRef("run__exclusive_key"), finished_at__isnull=True)
    older = same_key.filter(pk__lt=OuterRef("run"))
    at_work = same_key.filter(state__in=EXCLUSIVE)
    undelayed = Q(run__pause__not_before__isnull=True) | Q(run__pause__not_before__lte=now)
    free = waits.filter(undelayed, run__pause__held="", run__cancel_requested_at__isnull=True)
    return free.exclude(Exists(older)).exclude(Exists(at_work))


def paused_runs(waits: QuerySet[QuotaWait]) -> list[PausedRun]:
    """Return the runs of the waits, each with all that it waits for."""
    found: dict[int, PausedRun] = {}
    for row in waits.order_by().values_list(*_COLUMNS):
        run_id, quota_id, amount, schedule_id, job, name, day, *rest = row
        if run_id not in found:
            tenant = f"schedule:{schedule_id}" if schedule_id else f"job:{job}"
            found[run_id] = PausedRun(run_id, schedule_id, tenant, f"#{run_id} {name} {day}", *rest)
        found[run_id].amounts[quota_id] = amount
    return list(found.values())


_COLUMNS = (
    "run_id",
    "quota_id",
    "amount",
    "run__schedule_id",
    "run__job",
    "run__name",
    "run__stat_date",
    "run__reason",
    "run__priority",
    "run__pause__since",
    "run__pause__not_before",
    "run__pause__held",
)


def chains_of(quota_ids: Iterable[int]) -> dict[int, list[int]]:
    """Return each quota's chain: the ids of all that it is part of, and its own."""
    return {quota.pk: quota.chain for quota in Quota.objects.filter(pk__in=set(quota_ids)).only("ancestors")}


def note_need(quota: Quota, amount: int, since: datetime) -> None:
    """Note on the locked quota that one more waits, who needs so much of it, so that its coming is an edge."""
    smallest = amount if quota.waited_for is None else min(amount, quota.waited_for)
    oldest = since if quota.waited_since is None else min(since, quota.waited_since)
    evaluating.note_waiting(quota, smallest, oldest)


def how_many_wait(quota_ids: Collection[int]) -> dict[int, int]:
    """Return how many paused runs wait for each of the quotas, or for one that is part of it; registered with
    quotas.waiting.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT link, count(DISTINCT wait.run_id) FROM scheduler_quotawait AS wait"
            " JOIN scheduler_taskrun AS run ON run.id = wait.run_id AND run.state = %s"
            " JOIN quotas_quota AS quota ON quota.id = wait.quota_id, unnest(quota.ancestors || quota.id) AS link"
            " WHERE link = ANY(%s) GROUP BY link",
            [RunState.PAUSED, list(quota_ids)],
        )
        return dict(cursor.fetchall())


def work_waiting_for(quota: Quota, limit: int) -> list[WaitingWork]:
    """Return the paused runs that wait for the quota, as its page shows them; registered with quotas.waiting."""
    runs = paused_runs(waiting_below(quota.pk))[:limit]
    chains = chains_of(quota_id for run in runs for quota_id in run.amounts)
    return [
        WaitingWork(
            run.as_waiting(chains),
            run.title,
            page_of_run(str(run.run_id)),
            run.reason,
            run.not_before,
            f"{Pause.Held(run.held).label}." if run.held else "",
        )
        for run in runs
    ]
