"""What one booking costs its caller beside the cheapest question that Redis can be asked, through the same client."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

from tests.benchmarks import servers
from tests.benchmarks.measuring import OURS, Measurement, Options

CALLS = 10_000
LIMIT_RATIO = 2.0


def measure(options: Options) -> list[Measurement]:
    """Compare bookings with INCR."""
    from quotas.ratelimit import Window

    second, minutes = Window(2000, 1), Window(100_000, 300)
    calls = options.rounds * (options.size or CALLS)
    return [
        _beside_incr("limiter decision", [second], calls, LIMIT_RATIO),
        _beside_incr("limiter decision, two windows", [second, minutes], calls, None),
    ]


def _beside_incr(name: str, windows: list[Any], calls: int, limit: float | None) -> Measurement:
    """Book and count in turns, call by call; the target is a multiple of what INCR took in this invocation."""
    from quotas.ratelimit import Limiter

    servers.empty_broker()
    client = servers.broker()
    book, count = Limiter(client, name, windows).book, _counter(client)
    took: dict[str, list[float]] = {OURS: [], "INCR": []}
    for _ in range(calls):
        took[OURS].append(_microseconds(book))
        took["INCR"].append(_microseconds(count))
    return _measurement(name, {contestant: median(times) for contestant, times in took.items()}, limit)


def _counter(client: Any) -> Callable[[], object]:
    return lambda: client.incr("counter")


def _microseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e6


def _measurement(name: str, p50: dict[str, float], limit: float | None) -> Measurement:
    ours, incr = p50[OURS], p50["INCR"]
    target = None if limit is None else limit * incr
    met = None if target is None else ours <= target
    return Measurement(name, ours, "µs", {"INCR": incr}, {"INCR": ours / incr}, target, met)
