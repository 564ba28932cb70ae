"""`python -m tests.benchmarks.soak [--minutes N] [--cards N] [--order N]`: a whole fleet, by real processes, for long.

Fifty accounts that always have work waiting: one takes seconds to answer, one throttles what we take for allowed. Each
minute it says what was done and what the processes hold; at the end, whether each limit was kept, whether a card was
asked twice at once, and whether each is still in exactly one queue. It exits with 1 where that is not so.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import psutil

from tests.benchmarks import memory, order, polled, servers
from tests.processes import Processes, Started
from tests.scheduler.polling.carriers.processes import carrier_process

if TYPE_CHECKING:
    from scheduler.polling.models import CarrierAccount

ACCOUNTS, CARDS, MINUTES = 50, 100_000, 10
POLLERS = 2
# We ask a little less often than the carrier bears, for what leaves in time arrives with the jitter of its way.
CALLS_A_SECOND, BORNE_A_SECOND = 5, 6
SLOW, THROTTLING = "slow", "throttling"
# What its accounts do at the carrier that differs from the others.
HABITS = {SLOW: f"latency=3000,rate={BORNE_A_SECOND}/1", THROTTLING: "latency=20,rate=2/1"}
USUAL = f"latency=20,rate={BORNE_A_SECOND}/1"
# Of each check: 2,000 cards ask for a third more than their account allows.
INTERVAL_SECONDS = 600
WORK_ENDS_SECONDS = 120


def main() -> int:
    """Lay the fleet down, poll it, and judge what came of it."""
    arguments = _arguments()
    each = arguments.cards // ACCOUNTS
    plans = {name: f"{name},cards={each},{HABITS.get(name, USUAL)}" for name in _names()}
    with (
        servers.running_servers(),
        carrier_process(*(word for plan in plans.values() for word in ("--account", plan))) as url,
        polled.platform() as processes,
    ):
        accounts = _lay_down(url, each)
        pollers = polled.start_pollers(processes, url, POLLERS)
        _say(f"{arguments.cards:,} cards on {ACCOUNTS} accounts are in order: {_bytes_a_card(arguments.cards)} B each")
        if arguments.order:
            order.place([account for account in accounts if account.name not in HABITS], arguments.order)
        _poll(arguments.minutes, accounts, pollers)
        _let_work_end(processes, accounts)
        return max(_judge(url, accounts, arguments.cards), _judge_order() if arguments.order else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--cards", type=int, default=CARDS, help=f"over all {ACCOUNTS} accounts")
    parser.add_argument("--order", type=int, default=0, help="cards that one business event asks for at the beginning")
    return parser.parse_args()


def _names() -> list[str]:
    return [SLOW, THROTTLING, *(f"account-{number}" for number in range(ACCOUNTS - len(HABITS)))]


def _lay_down(url: str, cards: int) -> "list[CarrierAccount]":
    """Insert the fleet and build its live orders as `polling_init` does."""
    from project.kit.clock import database_now
    from scheduler.polling import connecting
    from scheduler.polling.fleet.initializing import rebuild

    polled.empty()
    polled.lay_down_tier(INTERVAL_SECONDS)
    windows = [{"limit": CALLS_A_SECOND, "seconds": 1}]
    accounts = [polled.lay_down(url, name, cards, rate_windows=windows) for name in _names()]
    servers.refresh_statistics()
    for account in accounts:
        rebuild(connecting.client(), account.pk, by="soak", now=database_now())
    return accounts


# --- while it runs ---------------------------------------------------------------------------------------------


def _poll(minutes: float, accounts: "Sequence[CarrierAccount]", pollers: Sequence[Started]) -> None:
    began = time.monotonic()
    said = 0

    def over() -> bool:
        nonlocal said
        passed = (time.monotonic() - began) / 60
        if passed >= said:
            _say(f"{passed:5.1f} min  {_done(_counted(accounts))}  {_held(pollers)}")
            said += 1
        return passed >= minutes

    polled.each_second(_second, over)


def _second() -> None:
    from project.kit.clock import database_now
    from scheduler.polling import connecting, dispatching, passing_on

    passing_on.pass_on_due(connecting.client(), now=database_now())
    dispatching.dispatch(connecting.client(), now=database_now())


def _counted(accounts: "Sequence[CarrierAccount]") -> dict[str, int]:
    """Return what is in all live orders together."""
    from scheduler.polling import connecting
    from scheduler.polling.queue import Queue, calls
    from scheduler.polling.queue.entries import Counts

    queue = Queue(connecting.client())
    counted: list[Counts] = [queue.ask(calls.count(account.pk)) for account in accounts]
    numbers = [field.name for field in fields(Counts) if field.name != "epoch"]
    return {name: sum(getattr(each, name) for each in counted) for name in numbers}


def _done(counted: Mapping[str, int]) -> str:
    shown = ("cards", "due", "running", "finished", "released", "lease_expired", "stale_finish")
    return "  ".join(f"{name} {counted[name]:,}" for name in shown)


def _held(pollers: Sequence[Started]) -> str:
    """Return the proportional set sizes of the processes, and what Redis holds."""
    this = psutil.Process()
    carrier = next(child for child in this.children() if "simulate_carrier" in child.cmdline())
    processes = {"poller": psutil.Process(pollers[0].pid), "poller 2": psutil.Process(pollers[-1].pid)}
    processes |= {"dispatcher": this, "carrier": carrier}
    sizes = [f"{name} {memory.proportional(process) / memory.MIB:.0f}" for name, process in processes.items()]
    used = servers.broker().info("memory")["used_memory"] / memory.MIB
    return f"MiB: {', '.join(sizes)}, Redis {used:.0f}"


def _bytes_a_card(cards: int) -> int:
    from tests.benchmarks.initialize import bytes_held

    return round(bytes_held() / cards)


# --- at the end ------------------------------------------------------------------------------------------------


def _let_work_end(processes: Processes, accounts: "Sequence[CarrierAccount]") -> None:
    processes.wait_until(lambda: _counted(accounts)["running"] == 0, WORK_ENDS_SECONDS, "the work to end")
    _say(f"      end  {_done(_counted(accounts))}")


def _judge(url: str, accounts: "Sequence[CarrierAccount]", cards: int) -> int:
    """Say what the carrier and the live orders witness; return the exit status."""
    from tests.faults.polling_books import audit_orders

    counted = polled.stats(url)
    above = {name: calls for name, each in counted.items() if name != THROTTLING and (calls := _above(each))}
    twice = sum(each["card_asked_twice_at_once"] for each in counted.values())
    audit_orders(*(account.pk for account in accounts))
    calls = sum(sum(each["calls"].values()) for each in counted.values())
    _say(f"calls {calls:,}; by account: {_figures(counted)}")
    _say(f"calls above an account's limit: {above or 'none'}; cards asked twice at once: {twice}")
    _say(f"each of the {cards:,} cards is in one queue, its account's; {_bytes_a_card(cards)} B a card in Redis")
    return 1 if above or twice else 0


def _judge_order() -> int:
    said, wrong = order.judged()
    _say(said)
    return 1 if wrong else 0


def _above(counted: Mapping[str, Any]) -> int:
    """Return how many calls of an account came when a window of its was full."""
    return sum(window["violations"] for window in counted["windows"])


def _figures(counted: Mapping[str, dict[str, Any]]) -> str:
    special = [f"{name} {sum(counted[name]['calls'].values()):,} {counted[name]['answers']}" for name in HABITS]
    others = [sum(each["calls"].values()) for name, each in counted.items() if name in _names() and name not in HABITS]
    return f"{'; '.join(special)}; each of the others {min(others):,} to {max(others):,}"


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
