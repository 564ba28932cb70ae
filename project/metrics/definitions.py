"""What a metric is: its name, its words, its labels; and one figure of it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

Family = GaugeMetricFamily | CounterMetricFamily

# What happened so long ago at most happened lately.
LATELY = timedelta(minutes=5)
# So many of the latest rows are looked at.
MOST_ROWS = 20_000
# So many quotas, accounts and channels have series of their own.
MOST_SHOWN = 200
# In a name: the number of a card, of a subscriber or of a phone, which does not belong into other people's records.
_PERSONAL = re.compile(r"\d{9}")


class Figure(NamedTuple):
    """A value of a metric, with what its labels say."""

    metric: "Metric"
    value: float
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Metric:
    """A gauge, which may rise and fall, or a counter, which only grows until whatever keeps it is emptied."""

    name: str
    help: str
    labels: tuple[str, ...]
    family_of: type[GaugeMetricFamily] | type[CounterMetricFamily]

    def at(self, value: float, *labels: str) -> Figure:
        """Return a figure.

        Args:
            labels: what each of the metric's labels says, in their order.
        """
        return Figure(self, value, labels)

    def family(self) -> Family:
        """Return the metric as the library writes it, without a figure."""
        return self.family_of(self.name, self.help, labels=self.labels)


def gauge(name: str, help: str, *labels: str) -> Metric:
    """Define a metric that may rise and fall."""
    return Metric(name, help, labels, GaugeMetricFamily)


def counter(name: str, help: str, *labels: str) -> Metric:
    """Define a metric that only grows; its name ends with `_total`."""
    return Metric(name, help, labels, CounterMetricFamily)


MORE_THAN_SHOWN = gauge(
    "tideline_more_than_shown",
    f"Whether there are more of these than the {MOST_SHOWN} that have series of their own (1) or not (0).",
    "of",
)


def by_value(metric: Metric, values: Iterable[str], counts: dict[str, int]) -> Iterable[Figure]:
    """Yield a figure for each value of the metric's label, 0 where nothing was counted: no series comes and goes."""
    return (metric.at(counts.get(value, 0), value) for value in values)


def label_of(name: str, pk: int) -> str:
    """Return what a row's series are labelled with: its name, or its number where the name may hold that of a card."""
    return f"#{pk}" if _PERSONAL.search(name) else name


def seconds_since(instant: datetime | None, now: datetime) -> float:
    """Return how long ago that was; 0: never, or not yet."""
    return max(0.0, (now - instant).total_seconds()) if instant is not None else 0.0
