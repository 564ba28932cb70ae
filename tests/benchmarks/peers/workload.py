"""What every peer's program shares: the workload it is given, and the outcome it prints. Runs in the peers' Python."""

import json
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Workload:
    """How much to lay down, and after how many seconds to stop."""

    size: int
    seconds: float


def given() -> Workload:
    """Return the workload of the command line."""
    return Workload(**json.loads(sys.argv[1]))


def report(count: int, seconds: float) -> None:
    """Say how much was done in how long."""
    print(json.dumps({"count": count, "seconds": seconds}))
