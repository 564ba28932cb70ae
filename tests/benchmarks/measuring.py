"""Contestants take turns in one invocation, so that a noisy neighbour meets them all; medians are compared."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

OURS = "Tideline"
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Options:
    """How thoroughly to measure.

    Attributes:
        rounds: how often each contestant has its turn.
        size: of the workload, in the benchmark's own unit; None for its usual one.
    """

    rounds: int = ROUNDS
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """One line of the outcome.

    Attributes:
        peers: the peers' medians, in the same unit.
        ratio: our value to each peer's.
        target: what the value has to reach here, given what the peers reached in this invocation; None: no target.
        met: whether it does.
    """

    name: str
    value: float
    unit: str
    peers: Mapping[str, float] = field(default_factory=dict)
    ratio: Mapping[str, float] = field(default_factory=dict)
    target: float | None = None
    met: bool | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the measurement as JSON's values."""
        return asdict(self)


def take_turns(contestants: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Let each contestant measure itself once a round, and return the medians by name."""
    figures: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, measure in contestants.items():
            figures[name].append(measure())
    return {name: median(values) for name, values in figures.items()}


def rate(
    name: str, unit: str, medians: Mapping[str, float], wanted: Mapping[str, float], at_least: float = 0.0
) -> Measurement:
    """Return the measurement of a rate, of which more is better.

    Args:
        medians: ours and the peers'.
        wanted: by peer, the multiple of its rate that ours has to reach.
        at_least: the rate that ours has to reach whatever the peers do.
    """
    value = medians[OURS]
    peers = {peer: figure for peer, figure in medians.items() if peer != OURS}
    target = max([at_least, *(multiple * peers[peer] for peer, multiple in wanted.items())])
    ratio = {peer: value / figure for peer, figure in peers.items()}
    return Measurement(name, value, unit, peers, ratio, target, value >= target)


def at_most(name: str, unit: str, value: float, limit: float) -> Measurement:
    """Return the measurement of a cost, which has to stay under a limit."""
    return Measurement(name, value, unit, target=limit, met=value < limit)


def stated(name: str, unit: str, value: float) -> Measurement:
    """Return a figure that is only stated."""
    return Measurement(name, value, unit)


def all_met(measurements: Sequence[Measurement]) -> bool:
    """Tell whether every target was reached."""
    return all(measurement.met is not False for measurement in measurements)
