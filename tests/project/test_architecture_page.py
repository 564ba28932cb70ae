"""What docs/architecture.md names is there, and all that is there is named."""

import re
import tomllib
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings

from alerts import delivering
from project import scans
from project.celery import app
from project.processes import commands

ROOT = Path(settings.BASE_DIR)
PAGE = (ROOT / "docs" / "architecture.md").read_text()
APPS = ("alerts", "project", "quotas", "scheduler")
FOLDERS = tuple(f"{name}/" for name in (*APPS, "tests"))
PATHS = sorted({path for path in re.findall(r"`([\w/.-]+)`", PAGE) if path.startswith(FOLDERS)})


def rows_under(heading: str) -> list[list[str]]:
    """Return the cells of the table under the heading, without its head."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"][
        2:
    ]


def names_in(cells: list[str]) -> list[str]:
    return [name for cell in cells for name in re.findall(r"`([\w.]+)`", cell)]


@pytest.mark.parametrize("path", PATHS)
def test_each_path_exists(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_floors_are_those_that_the_linter_keeps() -> None:
    arrows = re.findall(r"^ +(\w+(?: --> \w+)+)$", PAGE.partition("## The floors")[2], re.MULTILINE)[0].split(" --> ")
    titles = dict(re.findall(r'^ +(\w+)\["<b>([\w.]+)</b>', PAGE, re.MULTILINE))
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    assert [titles[floor] for floor in arrows] == ["project", "scheduler.polling", *layers]


def test_every_row_is_told_once() -> None:
    ours = [model.__name__ for model in apps.get_models() if model.__module__.split(".")[0] in APPS]
    assert sorted(names_in([row[0] for row in rows_under("What is in which row")])) == sorted(ours)


def test_every_process_of_the_procfile_is_told_with_its_queue() -> None:
    told = {process.strip("`"): names_in([reads]) for process, reads, *_ in rows_under("Processes and queues")}
    lines = commands(ROOT / "Procfile")
    assert told.keys() == lines.keys()
    assert {queue for queues in told.values() for queue in queues} == {queue.name for queue in app.conf.task_queues}
    assert all(queue in lines[process] for process, queues in told.items() for queue in queues)


def test_whatever_can_die_is_told() -> None:
    dying = names_in([row[0] for row in rows_under("When something dies")])
    assert {"beat", "worker", "runner", "notifier", "poller", "web"} <= set(dying)


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("`beat`, or", f"{scans.SILENT_AFTER_INTERVALS} intervals, at least {scans.SILENT_AFTER_SECONDS:.0f} s"),
        ("`runner`, its child", f"{settings.TIDELINE_LEASE_SECONDS:.0f} s"),
        ("`notifier`", f"{delivering.SENDER_LEASE.total_seconds():.0f} s"),
        ("`poller`", f"{settings.TIDELINE_POLLING_LEASE_SECONDS:.0f} s"),
    ],
)
def test_how_long_it_takes_is_that_of_the_code(what: str, told: str) -> None:
    (row,) = [row for row in rows_under("When something dies") if what in row[0]]
    assert row[2] == told
