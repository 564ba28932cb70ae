"""`python -m tests.benchmarks [NAME ...] [--json] [--rounds N] [--size N]`; exits 1 where a target is missed."""

import argparse
import sys
from collections.abc import Callable, Mapping

from tests.benchmarks import (
    charge,
    claim,
    decision,
    dispatch,
    finish,
    fire,
    growth,
    initialize,
    limiter,
    memory,
    panel,
    poll,
    prune,
    resume,
    runs,
    scan,
    utilisation,
)
from tests.benchmarks.measuring import ROUNDS, Measurement, Options, all_met
from tests.benchmarks.reporting import as_json, as_table
from tests.benchmarks.servers import running_servers

BENCHMARKS: Mapping[str, Callable[[Options], list[Measurement]]] = {
    "fire": fire.measure,
    "scan": scan.measure,
    "runs": runs.measure,
    "memory": memory.measure,
    "resume": resume.measure,
    "charge": charge.measure,
    "limiter": limiter.measure,
    "decision": decision.measure,
    "claim": claim.measure,
    "finish": finish.measure,
    "initialize": initialize.measure,
    "dispatch": dispatch.measure,
    "poll": poll.measure,
    "utilisation": utilisation.measure,
    "panel": panel.measure,
    "prune": prune.measure,
    "growth": growth.measure,
}


def main() -> int:
    """Measure what was asked for, say how it went on stderr, and print the outcome."""
    arguments = _arguments()
    measurements: list[Measurement] = []
    with running_servers():
        for name in arguments.names or BENCHMARKS:
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            measurements += BENCHMARKS[name](Options(arguments.rounds, arguments.size))
    print(as_json(measurements) if arguments.json else as_table(measurements))
    return 0 if all_met(measurements) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bin/bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(BENCHMARKS)}; none: all of them")
    parser.add_argument("--json", action="store_true", help="a list of objects instead of a table")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="turns that each contestant has")
    parser.add_argument("--size", type=int, help="of the workload, in its own unit")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
