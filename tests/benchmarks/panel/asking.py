"""Asks for every page a few times, and tells of each kind of page the slowest."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from unittest.mock import patch

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, setup_test_environment
from django.urls import resolve, reverse

from project.kit.api.throttling import PerCaller
from tests.benchmarks.measuring import Measurement, at_most
from tests.benchmarks.panel import addresses

HOME_MILLISECONDS, MILLISECONDS = 500.0, 300.0


@dataclass(frozen=True, slots=True)
class Asked:
    """How long the server took for an address, and how many queries it asked."""

    address: str
    milliseconds: float
    queries: int


def measure_pages(rounds: int) -> list[Measurement]:
    """Ask for the home page, every list and page, and every list of the API, as somebody who may see all of it."""
    setup_test_environment()
    client = Client()
    client.force_login(User.objects.create_superuser("chief"))
    home = _ask(client, reverse(addresses.HOME), rounds)
    kinds = {
        "list": addresses.lists(client),
        "page": addresses.pages(),
        "API": addresses.resources(client),
    }
    with patch.object(PerCaller, "allow_request", lambda *_: True):  # who asks for all of it asks more than people may
        return _measured(client, home, kinds, rounds)


def _measured(client: Client, home: Asked, kinds: Mapping[str, Iterable[str]], rounds: int) -> list[Measurement]:
    return [
        at_most(f"home, {home.queries} queries", "ms", home.milliseconds, HOME_MILLISECONDS),
        *(line for kind, found in kinds.items() for line in _slowest(kind, _ask_all(client, found, rounds))),
    ]


def _ask_all(client: Client, found: Iterable[str], rounds: int) -> Iterator[Asked]:
    for address in list(found):
        yield _ask(client, address, rounds)


def _ask(client: Client, address: str, rounds: int) -> Asked:
    took = []
    for _ in range(rounds):
        start = time.perf_counter()
        status = client.get(address).status_code
        took.append((time.perf_counter() - start) * 1000)
        assert status == 200, f"{address}: {status}"
    with CaptureQueriesContext(connection) as queries:
        client.get(address)
    return Asked(address, median(took), len(queries))


def _slowest(kind: str, asked: Iterable[Asked]) -> Iterator[Measurement]:
    """Yield a line for each table's pages: the slowest of them."""
    of_table: dict[str, list[Asked]] = defaultdict(list)
    for each in asked:
        of_table[_table(each.address)].append(each)
    for table, some in sorted(of_table.items()):
        slowest = max(some, key=lambda each: each.milliseconds)
        query = slowest.address.partition("?")[2]
        words = f"{kind} {table}: the slowest of {len(some)}, {slowest.queries} queries{query and ', ?' + query}"
        yield at_most(words, "ms", slowest.milliseconds, MILLISECONDS)


def _table(address: str) -> str:
    """Return which table's pages it is one of: `scheduler_taskrun`, or `alerts` of the API."""
    name = resolve(address.partition("?")[0]).url_name or ""
    return name.rpartition("_")[0] or name.rpartition("-")[0]
