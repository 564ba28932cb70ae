"""Four processes wait for their turns under one limit: how close they come to it, and what it costs Redis."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from statistics import median

import redis

from tests.benchmarks import peer_programs, servers
from tests.benchmarks.measuring import OURS, Measurement, Options
from tests.benchmarks.peers import waiting
from tests.benchmarks.peers.waiting import Outcome, Task, Wait

RATES = (50, 100, 500, 2000)
SECONDS = 8
LIMIT_ERROR_PERCENT = 0.5
LIMIT_ROUND_TRIPS = 1.02


def measure(options: Options) -> list[Measurement]:
    """Compare our wait with PyrateLimiter's and with a loop around `limits`."""
    return [line for rate in RATES for line in _lines(rate, _take_turns(rate, options))]


def prepare(task: Task) -> Wait:
    """Return our wait."""
    from quotas.ratelimit import Limiter, Window

    return Limiter(redis.Redis.from_url(task.url), task.name, [Window(task.rate, 1)]).wait


def _take_turns(rate: int, options: Options) -> dict[str, list[Outcome]]:
    contestants: Mapping[str, Callable[[Task], Outcome]] = {
        OURS: partial(waiting.measure, prepare),
        "PyrateLimiter": partial(_peer, "pyrate_limiter"),
        "limits": partial(_peer, "limits"),
    }
    outcomes: dict[str, list[Outcome]] = {name: [] for name in contestants}
    for _ in range(options.rounds):
        for name, contestant in contestants.items():
            servers.empty_broker()
            outcomes[name].append(contestant(Task(os.environ["REDIS_URL"], "limited", rate, options.size or SECONDS)))
    return outcomes


def _peer(program: str, task: Task) -> Outcome:
    return Outcome(**peer_programs.run(program, asdict(task), {}))


def _lines(rate: int, outcomes: Mapping[str, Sequence[Outcome]]) -> list[Measurement]:
    return [
        _line(f"{rate}/s: error of the rate", "%", _medians(outcomes, "error_percent"), LIMIT_ERROR_PERCENT),
        _line(f"{rate}/s: most in a second", "calls", _worst(outcomes, "most"), rate * 1.02 + 1),
        _line(f"{rate}/s: Redis for a call", "round trips", _medians(outcomes, "round_trips"), LIMIT_ROUND_TRIPS),
    ]


def _medians(outcomes: Mapping[str, Sequence[Outcome]], figure: str) -> dict[str, float]:
    return {name: median(getattr(turn, figure) for turn in turns) for name, turns in outcomes.items()}


def _worst(outcomes: Mapping[str, Sequence[Outcome]], figure: str) -> dict[str, float]:
    return {name: max(getattr(turn, figure) for turn in turns) for name, turns in outcomes.items()}


def _line(name: str, unit: str, figures: Mapping[str, float], limit: float) -> Measurement:
    """Return a cost of ours beside the peers'; the limit itself is still within the target."""
    value = figures[OURS]
    peers = {peer: figure for peer, figure in figures.items() if peer != OURS}
    ratio = {peer: value / figure if figure else float(value == figure) for peer, figure in peers.items()}
    return Measurement(f"limiter, {name}", value, unit, peers, ratio, limit, value <= limit)
