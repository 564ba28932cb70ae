"""`python -m tests.chaos [--minutes N] [--seed S] [--json FILE]`: one campaign; exits with 1 where a book is wrong."""

import argparse
import os
import sys

import pytest

from tests.chaos import campaign

USUAL_MINUTES = 5.0


def main() -> int:
    """Have pytest run the campaign, with all of its fixtures, and show what is said meanwhile."""
    arguments = _arguments()
    os.environ |= {
        campaign.SECONDS: str(arguments.minutes * 60),
        campaign.SEED: str(arguments.seed),
        campaign.REPORT: os.path.abspath(arguments.json) if arguments.json else "",
    }
    return int(pytest.main(["--capture=no", "--quiet", "--no-header", "tests/chaos/test_chaos.py"]))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bin/chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=USUAL_MINUTES, help=f"of harm (default {USUAL_MINUTES:g})")
    parser.add_argument("--seed", type=int, default=1, help="of the harm and of what people do (default 1)")
    parser.add_argument("--json", metavar="FILE", help="where the figures go, too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
