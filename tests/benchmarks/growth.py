"""What a step costs while that grows of which it takes a little: the history, the schedules, the fleet."""

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from statistics import median

from tests.benchmarks import fleet, prune, runs, scan, servers
from tests.benchmarks.measuring import Measurement, Options, at_most, stated
from tests.benchmarks.panel.history import Size, fill_runs

RUNS, SCHEDULES, CARDS = 1_000_000, 100_000, 100_000
SMALLEST = 1_000
TAKES = 10
TAKEN = 100  # schedules or runs a take
# "Flat": a hundred or a thousand times as much around it may cost a step so much more.
LIMIT_GROWTH = 2.0

# By step, what it costs, in milliseconds.
Costs = dict[str, float]


def measure(options: Options) -> list[Measurement]:
    """Let each of the three grow tenfold at a time, and measure the same steps each time."""
    most = options.size or RUNS
    return [
        *_curve("runs", min(most, RUNS), _among_runs, options.rounds),
        *_curve("schedules", min(most, SCHEDULES), _among_schedules, options.rounds),
        *_curve("cards", min(most, CARDS), _among_cards, options.rounds),
    ]


def _curve(what: str, most: int, costs_at: Callable[[int, int], Costs], rounds: int) -> Iterator[Measurement]:
    """Yield what each step costs at each size, and how many times more at the largest than at the smallest."""
    sizes = [size for size in (SMALLEST * 10**power for power in range(4)) if size <= most]
    costs = {size: costs_at(size, rounds * TAKES) for size in sizes}
    for step in costs[sizes[0]]:
        for size in sizes:
            yield stated(f"{step}, {size:,} {what}", "ms", costs[size][step])
        growth = costs[sizes[-1]][step] / costs[sizes[0]][step]
        yield at_most(f"{step}, {sizes[-1]:,} {what} to {sizes[0]:,}", "times", growth, LIMIT_GROWTH)


def _medians(takes: int, take: Callable[[], Mapping[str, float]]) -> Costs:
    """Return the medians of what the steps cost in so many takes; the first one, which warms up, is left out."""
    took = [take() for _ in range(takes + 1)][1:]
    return {step: median(each[step] for each in took) for step in took[0]}


def _timed(step: Callable[[], object]) -> float:
    start = time.perf_counter()
    step()
    return (time.perf_counter() - start) * 1000


# --- among runs that have ended ------------------------------------------------------------------------------------


def _among_runs(count: int, takes: int) -> Costs:
    servers.empty_broker()
    _lay_down_runs(count)
    return _medians(takes, lambda: _scanned_and_fired(SMALLEST) | _launched_and_executed())


def _lay_down_runs(count: int) -> None:
    """Insert runs that have ended, of 1,000 schedules, with their fires, attempts and events."""
    from django.db import connection, transaction

    from project.kit.clock import database_now
    from scheduler.models import Schedule, TaskRun
    from scheduler.states import RunState

    with transaction.atomic(), connection.cursor() as cursor:
        tables = "scheduler_schedule, scheduler_calendar, scheduler_taskrun, quotas_quota, quotas_ledgerentry"
        cursor.execute(f"TRUNCATE {tables} CASCADE")
        cursor.execute("SET LOCAL session_replication_role = replica")  # the rows fit together: no need to check
        now = database_now()
        fill_runs(Size(schedules=SMALLEST, runs=count, entries=SMALLEST), now)
        ended = {"state": RunState.DONE, "due_at": None, "lease_owner": "", "lease_expires_at": None}
        TaskRun.objects.filter(finished_at=None).update(finished_at=now, seal="sealed", **ended)
        Schedule.objects.filter(enabled=True).update(next_run_at=now + timedelta(days=1), broken_reason="")
    servers.refresh_statistics()


def _launched_and_executed() -> Costs:
    """Launch runs that are due now, and execute them as one hint."""
    from project.kit.clock import CarriedClock, database_now
    from scheduler import executing, launching
    from scheduler.identity import this_worker
    from scheduler.models import TaskRun
    from scheduler.transitions import Claim

    TaskRun.objects.filter(finished_at=None).delete()  # what the schedules fired
    runs.open_due(TAKEN, "benchmark.short_noop")
    launch = _timed(lambda: launching.launch_due(now=database_now()))
    leased = TaskRun.objects.filter(finished_at=None).order_by("id").values_list("pk", "lease_token")
    claims = [Claim(run_id, token) for run_id, token in leased]
    execute = _timed(lambda: executing.execute_hint(claims, this_worker(), CarriedClock()))
    left = TaskRun.objects.filter(pk__in=[claim.run_id for claim in claims], finished_at=None).count()
    assert (len(claims), left) == (TAKEN, 0), f"of {len(claims)} runs {left} did not end"
    return {f"{TAKEN} runs launched": launch, f"{TAKEN} runs executed": execute}


# --- among schedules ---------------------------------------------------------------------------------------------


def _among_schedules(count: int, takes: int) -> Costs:
    servers.empty_tables()
    scan.lay_down(count)
    return _medians(takes, lambda: _scanned_and_fired(count))


def _scanned_and_fired(schedules: int) -> Costs:
    """Scan while none is due; then let some of the schedules come due, and fire them."""
    from django.db.models import Min

    from scheduler import tasks
    from scheduler.models import Fire, Schedule, TaskRun

    TaskRun.objects.filter(finished_at=None).delete()  # none stands in the way of those that come
    nothing = _timed(tasks.fire_due)
    first = Schedule.objects.aggregate(first=Min("pk"))["first"] or 0
    before = Fire.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    fired = prune.fire(first - 1 + before % (schedules - TAKEN))
    recorded = Fire.objects.filter(pk__gt=before).count()
    assert recorded >= TAKEN, f"only {recorded} fires were recorded"  # more where some came due by themselves
    return {"scan, none due": nothing, f"{TAKEN} schedules fired": fired}


# --- among cards -------------------------------------------------------------------------------------------------


def _among_cards(count: int, takes: int) -> Costs:
    """Claim a batch of each account, and finish it: as many cards as the smallest fleet has."""
    from scheduler.polling.queue import Queue

    redis = servers.broker()
    redis.flushall()
    fleet.fill(redis, count)
    queue = Queue(redis)

    def claimed_and_finished() -> Costs:
        fleet.begin_second(redis)
        start = time.perf_counter()
        rounds = queue.perform(fleet.round_of_claims(SMALLEST // fleet.ACCOUNTS))
        claimed = time.perf_counter()
        accepted = queue.perform(fleet.finishes(rounds, again=timedelta(0)))
        finished = time.perf_counter()
        assert sum(map(sum, accepted)) == SMALLEST, "cards were claimed in vain"
        claim, finish = (claimed - start) * 1000, (finished - claimed) * 1000
        return {f"{SMALLEST:,} cards claimed": claim, f"{SMALLEST:,} cards finished": finish}

    return _medians(takes, claimed_and_finished)
