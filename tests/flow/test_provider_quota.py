"""A provider refuses, and the runs that call it pause and go on by themselves: real processes, and a real server that
says it in each of the forms in which providers do.
"""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path

import pytest

from project.kit.clock import database_now
from project.services import Redis
from quotas import defining
from quotas.models import ProviderReport, Quota
from quotas.states import Kind, Verdict
from scheduler.models import RunEvent, TaskRun
from scheduler.states import AttemptOutcome, RunState
from tests.faults.house import House
from tests.processes import Processes
from tests.scheduler.jobs.upstream import Handler, Upstream, serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

# For so long the provider refuses.
WINDOW = 3

Headers = Callable[[datetime], dict[str, str]]

# What it says when it refuses, at the instant at which its window begins anew.
FORMS: dict[str, Headers] = {
    "retry-after-seconds": lambda end: {"retry_after": str(WINDOW)},
    "retry-after-date": lambda end: {"retry_after": format_datetime(whole(end), usegmt=True)},
    "retry-after-asctime": lambda end: {"retry_after": whole(end).strftime("%a %b %e %H:%M:%S %Y")},
    "retry-after-ms": lambda end: {"retry_after_ms": str(WINDOW * 1000)},
    "ietf": lambda end: {"ratelimit": f'"default";r=0;t={WINDOW}', "ratelimit_policy": '"default";q=100;w=60'},
    "ietf-old": lambda end: three("ratelimit", 100, 0, WINDOW),
    "epoch": lambda end: three("x_ratelimit", 100, 0, int(whole(end).timestamp())),
    "epoch-ms": lambda end: three("x_ratelimit", 100, 0, int(end.timestamp() * 1000)),
    "rfc-3339": lambda end: three("x_ratelimit", 100, 0, end.isoformat()),
    "duration": lambda end: {"x_ratelimit_remaining_requests": "0", "x_ratelimit_reset_requests": f"{WINDOW}s"},
    "github": lambda end: three("x_ratelimit", 60, 0, int(whole(end).timestamp())),
    "async": lambda end: {"retry_after": str(WINDOW)},
    "body": lambda end: {"body": json.dumps({"parameters": {"retry_after": WINDOW}})},
}
# What it says at times, and what is not true: it refuses for longer.
TOO_EARLY = {"retry_after": "1"}
REFUSALS = 8  # more than there are runs, so that some of those that try are refused as well
STATUSES = defaultdict(lambda: 429, {"github": 403})


def whole(instant: datetime) -> datetime:
    """Return the next whole second, for forms that say no more."""
    return instant.replace(microsecond=0) + timedelta(seconds=1)


def three(prefix: str, limit: int, remaining: int, reset: object) -> dict[str, str]:
    return {f"{prefix}_limit": str(limit), f"{prefix}_remaining": str(remaining), f"{prefix}_reset": str(reset)}


class Provider:
    """A provider with one account a path: it refuses from its first call on until its window ends, and keeps order."""

    def __init__(self, upstream: Upstream) -> None:
        self.url = upstream.url
        self.left = 0
        self.calls: dict[str, list[tuple[float, int]]] = defaultdict(list)
        upstream.answer = self.answer

    def answer(self, handler: Handler) -> None:
        path = handler.path.removeprefix("/")
        if path == "usage":
            return handler.say(200, json.dumps({"data": {"left": self.left, "of": 100}}))
        began = self.calls[path][0][0] if self.calls[path] else time.monotonic()
        over = len(self.calls[path]) >= REFUSALS if path == "crowd" else time.monotonic() - began >= WINDOW
        if not over:
            end = datetime.now(UTC) + timedelta(seconds=WINDOW)  # noqa: TID251 - it has a clock of its own
            status, said = STATUSES[path], FORMS[path](end) if path in FORMS else TOO_EARLY
        else:
            status, said = 200, {}
        self.calls[path].append((time.monotonic(), status))
        handler.say(status, **said)


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    with serving(server):
        yield server


@pytest.fixture
def house(processes: Processes, redis_server: Redis, tmp_path: Path) -> House:
    made = House(processes, redis_server, tmp_path)
    made.environ |= {"TIDELINE_JOBS": "tests.flow.provider_jobs"}
    return made


def test_each_form_of_refusal_pauses_a_run_that_goes_on_by_itself_when_the_provider_answers_again(
    house: House, upstream: Upstream
) -> None:
    provider = Provider(upstream)
    jobs = dict.fromkeys(FORMS, "test.guarded") | {"async": "test.guarded_async"}
    for key in jobs:
        make_quota(key)
    runs = {key: house.open(job, url=f"{provider.url}/{key}", quota=key) for key, job in jobs.items()}

    house.scanners()
    house.runner()
    house.wait_for(RunState.DONE, *runs.values(), seconds=120)

    for key, run in runs.items():
        assert [status for _, status in provider.calls[key]] == [STATUSES[key], 200], key
        assert house.outcomes(run) == [AttemptOutcome.PAUSED, AttemptOutcome.DONE], key
        assert RunState.PAUSED in states(run), key
    for quota in Quota.objects.all():
        assert (quota.blocked_until, quota.provider_unverified, quota.blocked_count) == (None, False, 0), quota.key
        reports = ProviderReport.objects.filter(quota=quota).order_by("id")
        assert [report.limited for report in reports] == [True, False], quota.key
        assert not any(report.doubts for report in reports), quota.key


def test_a_reset_that_comes_too_early_is_tried_by_one_run_at_a_time_before_the_crowd_is_let_in(
    house: House, upstream: Upstream
) -> None:
    provider = Provider(upstream)
    account = make_quota("crowd")
    runs = [
        house.open("test.guarded", url=f"{provider.url}/crowd", quota="crowd", quota_id=account.pk) for _ in range(6)
    ]

    house.scanners()
    house.runner()
    house.wait_for(RunState.DONE, *runs, seconds=120)  # whoever tried and was refused waits for half a minute

    statuses = [status for _, status in provider.calls["crowd"]]
    assert statuses == [429] * REFUSALS + [200] * len(runs)
    refused_again = [reason for run in runs for reason in resumed_in_vain(run)]
    assert refused_again
    assert all("this run tries" in reason for reason in refused_again)
    assert quota("crowd").blocked_count == 0


def test_a_usage_endpoint_says_when_work_that_was_paused_may_go_on(house: House, upstream: Upstream) -> None:
    provider = Provider(upstream)
    probe = {"probe_url": f"{provider.url}/usage", "probe_remaining": "data.left", "probe_limit": "data.of"}
    make_quota("metered", **probe, poll_floor_seconds=1, poll_ceiling_seconds=1)
    house.scanners()
    house.wait_until(lambda: quota("metered").verdict == Verdict.INSUFFICIENT, 60, "the account to be seen empty")

    run = house.open("test.charged", url=f"{provider.url}/work", quota="metered")
    house.runner()
    house.wait_for(RunState.PAUSED, run)
    assert not provider.calls["work"]

    provider.left = 50
    provider.calls["work"].append((time.monotonic() - WINDOW, 0))  # it is over
    house.wait_for(RunState.DONE, run, seconds=60)

    assert (quota("metered").provider_limit, quota("metered").provider_remaining) == (100, 50)


def make_quota(key: str, **fields: object) -> Quota:
    """Create a quota of which only the provider knows the limit."""
    return defining.create(key=key, kind=Kind.CAPACITY, now=database_now(), stable_seconds=0, **fields)


def quota(key: str) -> Quota:
    return Quota.objects.get(key=key)


def states(run: TaskRun) -> list[str]:
    return list(RunEvent.objects.filter(run=run).order_by("id").values_list("to_state", flat=True))


def resumed_in_vain(run: TaskRun) -> list[str]:
    """Return why the run was resumed, each time that it paused again."""
    moves = RunEvent.objects.filter(run=run, to_state__in=(RunState.RESUMING, RunState.PAUSED)).order_by("id")
    return [one.reason for one, after in pairwise(moves) if (one.to_state, after.to_state) == ("resuming", "paused")]
