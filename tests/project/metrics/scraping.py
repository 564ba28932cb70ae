"""Scrapes in tests, read as Prometheus reads them."""

from collections.abc import Mapping

from django.test import Client
from django.urls import reverse
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

ADDRESS = reverse("metrics")
TOKEN = "the-scraper's"


def text_of_scrape(settings: Settings) -> str:
    """Return what the scraper is answered."""
    settings.TIDELINE_METRICS_TOKEN = TOKEN
    response = Client().get(ADDRESS, headers={"Authorization": f"Bearer {TOKEN}"})
    assert response.status_code == 200, response.content
    return response.content.decode()


def families_of(text: str) -> dict[str, Metric]:
    """Return the metrics by the name of their samples."""
    families = text_string_to_metric_families(text)
    return {f"{each.name}_total" if each.type == "counter" else each.name: each for each in families}


class Scraped:
    """One scrape: `scraped("tideline_runs", state="paused")` is the value, None where there is no such series."""

    def __init__(self, settings: Settings) -> None:
        self.families = families_of(text_of_scrape(settings))

    def __call__(self, name: str, **labels: str) -> float | None:
        (value,) = [value for said, value in self.series(name) if said == labels] or [None]
        return value

    def series(self, name: str) -> list[tuple[Mapping[str, str], float]]:
        """Return all series of a metric: labels and value."""
        return [(sample.labels, sample.value) for sample in self.families[name].samples]

    def by(self, name: str, label: str) -> dict[str, float]:
        """Return those values of a metric that are not 0, by what the label says."""
        return {labels[label]: value for labels, value in self.series(name) if value}
