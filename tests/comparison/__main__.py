"""`python -m tests.comparison [--write]`: run the peers and ourselves, and print docs/comparison.md or write it."""

import argparse
import os
import platform
import sys
from typing import Any

import django
from django.core.management import call_command

from tests.comparison import page, peer_programs


def main() -> None:
    """Ask everybody, and print or write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.comparison", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {page.PAGE.name} instead of printing it")
    arguments = parser.parse_args()
    peer_programs.install()
    text = page.text(_peers(), python=platform.python_version(), **_ours())
    if arguments.write:
        page.PAGE.write_text(text)
    else:
        print(text, end="")


def _peers() -> dict[str, dict[str, Any]]:
    reports = {}
    for peer in peer_programs.PEERS:
        print(f"asking {peer} ...", file=sys.stderr, flush=True)
        reports[peer] = peer_programs.run(peer)
    return reports


def _ours() -> dict[str, Any]:
    """Return our answers, on servers of our own as the tests have."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()
    call_command("migrate", verbosity=0, interactive=False)

    from project.kit.clock import database_now
    from tests.comparison import tideline

    return {"cron": tideline.cron_answers(), "faults": tideline.seen_of_faults(), "day": database_now().date()}


if __name__ == "__main__":
    main()
