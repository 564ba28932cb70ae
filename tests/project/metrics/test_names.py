"""The metrics' names: by Prometheus's rules, and as the page, the dashboard and the alert rules have them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from project.metrics.collecting import METRICS

DOCS = Path(__file__).resolve().parents[3] / "docs"
NAMES = {metric.name for metric in METRICS}
KINDS = {metric.name: metric.family().type for metric in METRICS}
NAMED = re.compile(r"\btideline_[a-z0-9_]+")
RULES = [
    rule for group in yaml.safe_load((DOCS / "prometheus/alerts.yml").read_text())["groups"] for rule in group["rules"]
]
DASHBOARD: dict[str, Any] = json.loads((DOCS / "grafana/tideline.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
EXPRESSIONS = {f"alert {rule['alert']}": rule["expr"] for rule in RULES} | {
    f"panel {panel['title']}, {target['refId']}": target["expr"] for panel in PANELS for target in panel["targets"]
}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_name_keeps_the_rules_of_prometheus(name: str) -> None:
    assert re.fullmatch(r"tideline_[a-z]+(_[a-z]+)*", name)
    assert name.endswith("_total") == (KINDS[name] == "counter")
    units = re.findall(r"milliseconds|minutes|hours|percent|count$|sum$|bucket$|info$|created$", name)
    assert units == []
    if "bytes" in name:
        assert name.endswith("_bytes")
    if "seconds" in name:
        assert name.endswith(("_seconds", "_seconds_total"))


def test_a_metric_is_defined_once_and_says_what_it_is() -> None:
    assert len(NAMES) == len(METRICS)
    assert all(metric.help.endswith(".") for metric in METRICS)
    labels = {label for metric in METRICS for label in metric.labels}
    assert not labels & {"le", "quantile", "job", "instance", "iccid", "card", "run"}


@pytest.mark.parametrize("place", sorted(EXPRESSIONS))
def test_what_is_asked_for_exists(place: str) -> None:
    expression = EXPRESSIONS[place]
    assert set(NAMED.findall(expression)) <= NAMES
    assert NAMED.search(expression) or "up{" in expression


@pytest.mark.parametrize("place", sorted(EXPRESSIONS))
def test_of_counters_the_rate_is_asked_and_of_gauges_never(place: str) -> None:
    for function, name in re.findall(r"(?:(\w+)\()?\s*(tideline_\w+)", EXPRESSIONS[place]):
        assert (function in {"rate", "increase"}) == (KINDS[name] == "counter"), name


@pytest.mark.parametrize("place", sorted(EXPRESSIONS))
def test_labels_that_are_asked_for_are_labels_of_the_metric(place: str) -> None:
    known = {metric.name: set(metric.labels) for metric in METRICS}
    for name, condition in re.findall(r"(tideline_\w+)\{([^}]*)\}", EXPRESSIONS[place]):
        asked = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", condition))
        assert asked <= known[name] | {"job", "instance"}, name


def test_each_alert_says_how_bad_it_is_and_what_to_do() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule["labels"]["severity"] in {"warning", "critical"}, rule["alert"]
        assert rule["annotations"]["summary"].endswith("."), rule["alert"]
        assert rule["annotations"]["description"].endswith("."), rule["alert"]


def test_the_page_tells_each_metric_with_its_kind_and_its_labels() -> None:
    rows = re.findall(
        r"^\| `(tideline_\w+)` \| (\w+) \| ([^|]*) \|", (DOCS / "operations.md").read_text(), re.MULTILINE
    )
    told = {name: (kind, re.findall(r"`(\w+)`", labels)) for name, kind, labels in rows}
    assert told == {metric.name: (KINDS[metric.name], list(metric.labels)) for metric in METRICS}


def test_the_dashboard_shows_all_metrics() -> None:
    shown = {name for panel in PANELS for target in panel["targets"] for name in NAMED.findall(target["expr"])}
    assert shown == NAMES


def test_the_panels_do_not_lie_upon_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
