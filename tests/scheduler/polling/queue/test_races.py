"""Several dispatchers and pollers at once, each a process of its own."""

import json
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from django.conf import settings
from redis import Redis

from scheduler.polling.queue import Queue, calls
from scheduler.polling.queue.packing import MICROSECOND
from tests.scheduler.polling.queue.claimers import INFLIGHT_LIMIT
from tests.scheduler.polling.queue.states import SECOND, forget, put_due, server_now

pytestmark = pytest.mark.slow

PROCESSES = 4
CARDS = range(1, 13)


@pytest.fixture
def accounts(queue: Queue, account: int, client: Redis) -> Any:
    """Three accounts with a dozen cards each, all due."""
    accounts = [account + number * 60_000_000 for number in (1, 2, 3)]
    for each in accounts:
        put_due(queue, each, CARDS)
    yield accounts
    for each in accounts:
        forget(client, each)


def claimed_by_processes(accounts: list[int], way: str, turns: int) -> tuple[list[tuple[int, int, int]], list[str]]:
    """Let processes claim at the same time, and return account, card and token of each claim, and what was wrong."""
    arguments = [settings.REDIS_URL, ",".join(map(str, accounts)), way, str(turns)]
    command = [sys.executable, "-m", "tests.scheduler.polling.queue.claimers", *arguments]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    started = [subprocess.Popen(command, cwd=settings.BASE_DIR, **pipes) for _ in range(PROCESSES)]
    assert [process.stdout.readline() for process in started if process.stdout] == ["ready\n"] * PROCESSES
    outputs = [json.loads(output) for output in _let_go(started)]
    claims = [tuple(claim) for output in outputs for claim in output["claims"]]
    return claims, [fault for output in outputs for fault in output["faults"]]


def _let_go(started: list["subprocess.Popen[str]"]) -> list[str]:
    for process in started:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=120)[0] for process in started]
    assert [process.returncode for process in started] == [0] * PROCESSES
    return outputs


def test_20_dispatchers_at_once_claim_an_account_once_a_second(accounts: list[int], client: Redis) -> None:
    before = server_now(client)
    claims, _ = claimed_by_processes(accounts, "rounds", turns=60)
    seconds = (server_now(client) - before) // SECOND + 2
    assert claims
    for account in accounts:
        cards = [card for each, card, _ in claims if each == account]
        assert len(set(cards)) == len(cards) <= INFLIGHT_LIMIT
        by_second = Counter(token * MICROSECOND // SECOND for each, _, token in claims if each == account)
        assert len(by_second) <= seconds
        assert max(by_second.values()) <= 3, "one round is of three cards at most"


def test_1_no_card_is_worked_on_by_two_and_none_is_lost(queue: Queue, accounts: list[int]) -> None:
    claims, faults = claimed_by_processes(accounts, "work", turns=12)
    assert faults == []
    assert len(claims) > len(accounts) * len(CARDS), "cards came again and again"
    for account in accounts:
        tokens = [token for each, _, token in claims if each == account]
        assert len(set(tokens)) == len(tokens)
        counts = queue.ask(calls.count(account))
        assert (counts.cards, counts.running, counts.stale_finish) == (len(CARDS), 0, 0)
        assert counts.claimed == counts.finished == len(tokens)
        assert sorted(queue.cards(account)) == list(CARDS)
