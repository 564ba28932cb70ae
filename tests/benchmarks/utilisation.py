"""How much of an account's limit real pollers use while work is waiting, as the simulated carrier counts it.

It counts and refuses nothing: one call too many, on a machine that is busy with other things, would have the account
left in peace for seconds, and that is another matter.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.benchmarks import polled, servers
from tests.benchmarks.measuring import Measurement, Options
from tests.scheduler.polling.carriers.processes import carrier_process

SECONDS, WARM_SECONDS = 40, 6
POLLERS = 2
WANTED_PERCENT = 98.0


@dataclass(frozen=True, slots=True)
class Case:
    """An account whose limit is to be used.

    Attributes:
        windows: calls and seconds of each; the first is the one that counts here.
        concurrency: of an account without windows: calls at one time.
    """

    name: str
    latency: int = 20
    windows: tuple[tuple[int, int], ...] = ()
    concurrency: int | None = None

    @property
    def calls_a_second(self) -> float:
        """What the limit allows."""
        if self.concurrency is not None:
            return self.concurrency * 1000 / self.latency
        calls, seconds = self.windows[0]
        return calls / seconds

    @property
    def at_carrier(self) -> str:
        """The account as `simulate_carrier` takes it, with cards for as long as is measured."""
        cards = int(self.calls_a_second * (SECONDS + WARM_SECONDS) * 2)
        options = [f"rate={2 * calls}/{seconds}" for calls, seconds in self.windows]
        if self.concurrency is not None:
            options.append(f"concurrency={self.concurrency}")
        return ",".join([self.name, f"cards={cards}", f"latency={self.latency}", *options])

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of its polling."""
        windows = [{"limit": calls, "seconds": seconds} for calls, seconds in self.windows]
        return {"rate_windows": windows, "max_concurrency": self.concurrency}


CASES = {
    "5/1": Case("five", windows=((5, 1),)),
    "50/1": Case("fifty", windows=((50, 1),)),
    "20/1 and 2000/300": Case("both", windows=((20, 1), (2000, 300))),
    "one at a time, 100 ms": Case("single", latency=100, concurrency=1),
}


def measure(options: Options) -> list[Measurement]:
    """Poll the accounts of all cases at the same time, by two pollers."""
    seconds = options.size or SECONDS
    accounts = (word for case in CASES.values() for word in ("--account", case.at_carrier))
    with carrier_process(*accounts) as url:
        counted = _poll(url, seconds)
    return [line for name, case in CASES.items() for line in _lines(name, case, *counted[case.name])]


def _poll(url: str, seconds: float) -> Mapping[str, tuple[dict[str, Any], float]]:
    """Return what the carrier has counted of each account, and in how many seconds."""
    polled.empty()
    polled.lay_down_tier(seconds=3600)
    for case in CASES.values():
        cards = int(case.at_carrier.split("cards=")[1].split(",")[0])
        polled.put_in_order(polled.lay_down(url, case.name, cards, **case.params))
    servers.refresh_statistics()
    with polled.platform() as processes:
        polled.start_pollers(processes, url, POLLERS)
        _dispatch_for(WARM_SECONDS)
        polled.count_anew(url)
        began = time.monotonic()
        _dispatch_for(seconds)
        took = time.monotonic() - began
        return {name: (counted, took) for name, counted in polled.stats(url).items()}


def _dispatch_for(seconds: float) -> None:
    until = time.monotonic() + seconds
    polled.dispatch_until(lambda: time.monotonic() >= until)


def _lines(name: str, case: Case, counted: dict[str, Any], seconds: float) -> list[Measurement]:
    calls = sum(counted["calls"].values())
    percent = 100 * calls / seconds / case.calls_a_second
    used = Measurement(f"utilisation, {name}", percent, "%", target=WANTED_PERCENT, met=percent >= WANTED_PERCENT)
    spans = zip(case.windows, counted["windows"], strict=True)
    return [used, *(_most(name, *window, span["most"]) for window, span in spans), *_at_once(name, case, counted)]


def _most(name: str, limit: int, seconds: int, most: int) -> Measurement:
    """Return the most calls in any span of a window, which may come late by as much as the limiter says."""
    bound = limit + limit // 50 + 1
    return Measurement(f"utilisation, {name}: most in {seconds} s", most, "calls", target=bound, met=most <= bound)


def _at_once(name: str, case: Case, counted: dict[str, Any]) -> list[Measurement]:
    if case.concurrency is None:
        return []
    most = counted["most_in_flight"]
    met = most <= case.concurrency
    return [Measurement(f"utilisation, {name}: most at once", most, "calls", target=case.concurrency, met=met)]
