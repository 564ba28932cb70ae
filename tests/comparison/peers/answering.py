"""What the peers' programs share: every case put to an engine, and the report. Runs in the peers' Python."""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

from tests.comparison.cases import CASES, Case

Answer = dict[str, object]
JUST_BEFORE = timedelta(seconds=1)


class LeftOut(Exception):
    """What the engine accepted when it was saved, it later leaves out and tells nobody."""


def answers(ask: Callable[[Case], Iterable[datetime]], *refusals: type[Exception]) -> dict[str, Answer]:
    """Return, by case, the instants that the engine names, or that it refuses, or leaves out what it accepted."""
    return {case.name: _answer(ask, case, refusals) for case in CASES}


def _answer(ask: Callable[[Case], Iterable[datetime]], case: Case, refusals: tuple[type[Exception], ...]) -> Answer:
    try:
        return {"instants": [instant.astimezone(UTC).isoformat() for instant in ask(case)]}
    except LeftOut:
        return {"left_out": True}
    except refusals as error:
        return {"refused": type(error).__name__}


def report(*packages: str, cron: Mapping[str, Answer] | None = None, faults: Mapping[str, str] | None = None) -> None:
    """Print the versions, the answers to the cases and what was seen of the faults."""
    versions = {package: version(package) for package in packages}
    print(json.dumps({"versions": versions, "cron": cron or {}, "faults": faults or {}}))
