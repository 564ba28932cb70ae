"""A process that claims and finishes: `python -m tests.scheduler.polling.queue.claimers URL ACCOUNTS WAY TURNS`.

ACCOUNTS are numbers with commas between. WAY "rounds" claims as often as it can and keeps the cards; "work" claims as
if each time another second had begun, works on each card and finishes it. It prints what it has seen, as JSON.
"""

import json
import sys
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal

from redis import Redis

from scheduler.polling.queue import Claim, Finish, Queue, Round, calls
from scheduler.polling.states import CheckType
from tests.scheduler.polling.queue.states import LEASE, begin_second, server_now

INFLIGHT_LIMIT = 5


class Claimer:
    """Claims for all accounts, and notes what it got and what must not be."""

    def __init__(self, url: str, accounts: Sequence[int]) -> None:
        self.redis, self.accounts = Redis.from_url(url), accounts
        self.queue = Queue(self.redis)
        self.claims: list[tuple[int, int, int]] = []
        self.faults: list[str] = []

    def claim(self) -> list[Claim]:
        """Claim for each account."""
        arguments = {"most": 3, "inflight_limit": INFLIGHT_LIMIT, "lease": LEASE, "priority_share": Decimal("0.5")}
        rounds = self.queue.perform([calls.claim(account, **arguments) for account in self.accounts])
        claims = [claim for each in rounds if isinstance(each, Round) for claim in each.claims]
        self.claims += [(each.account_id, each.card_id, each.token) for each in claims]
        return claims

    def work(self) -> None:
        """Claim as if another second had begun, work and finish."""
        for account in self.accounts:
            begin_second(self.redis, account)
        claims = self.claim()
        for account, count in zip(
            self.accounts, self.queue.perform(list(map(calls.count, self.accounts))), strict=True
        ):
            if not count.running <= INFLIGHT_LIMIT:
                self.faults.append(f"{count.running} cards of {account} are in work")
        for each in claims:
            self.work_on(each)

    def work_on(self, claim: Claim) -> None:
        """Notice whether somebody else is working on the card."""
        account, held = claim.account_id, [(claim.card_id, claim.token)]
        mark = f"test:works-on:{account}:{claim.card_id}"
        if self.queue.ask(calls.start(account, f"{id(self)}-{claim.token}", LEASE, held)) != [True]:
            self.faults.append(f"{claim} could not be started")
        if not self.redis.set(mark, 1, nx=True, ex=60):
            self.faults.append(f"{claim} is being worked on by two")
        self.redis.delete(mark)
        due = {CheckType.USAGE: server_now(self.redis) - timedelta(seconds=1)}
        if self.queue.ask(calls.finish(account, [Finish(*held[0], due, {})])) != [True]:
            self.faults.append(f"{claim} could not be finished")


def main(url: str, accounts: str, way: str, turns: int) -> None:
    """Say that it is ready, wait for the word, and do so many turns."""
    claimer = Claimer(url, list(map(int, accounts.split(","))))
    claimer.redis.ping()
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(turns):
        claimer.work() if way == "work" else claimer.claim()
    print(json.dumps({"claims": claimer.claims, "faults": claimer.faults}))


if __name__ == "__main__":
    main(*sys.argv[1:4], int(sys.argv[4]))
