"""Runs the peers, each a program under a Python of their own: the product's environment stays clean."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
VENV = ROOT / ".cache" / "comparison" / "venv"
PEERS = ("django_celery_beat", "apscheduler", "croniter", "cronsim", "procrastinate")


def run(peer: str) -> dict[str, Any]:
    """Run a peer's program and return its report: its versions, its answers, and what was seen of the faults."""
    command = [str(VENV / "bin" / "python"), "-m", f"tests.comparison.peers.{peer}"]
    surroundings = {"PATH": os.environ["PATH"]}
    done = subprocess.run(command, cwd=ROOT, env=surroundings, stdout=subprocess.PIPE, text=True, check=True)
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


def install() -> None:
    """Make the peers' virtual environment, or bring it up to date."""
    installed = VENV / "installed.txt"
    if installed.exists() and installed.read_text() == REQUIREMENTS.read_text():
        return
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
    pip = [str(VENV / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    subprocess.run([*pip, "--requirement", str(REQUIREMENTS)], check=True, stdout=sys.stderr)
    installed.write_text(REQUIREMENTS.read_text())
