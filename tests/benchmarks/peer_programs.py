"""Runs the peers, each a program of its own under a Python of its own: the product's environment stays clean.

A peer's program takes its workload as JSON in the first argument and prints `{"count": …, "seconds": …}` last.
"""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.servers import CACHE

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = Path(__file__).with_name("peers") / "requirements.txt"
VENV = CACHE / "venv"


def rate(peer: str, *, size: int, seconds: float, **environ: str) -> float:
    """Run a peer's program and return how much a second it did.

    Args:
        size: how much work to lay down.
        seconds: after how long it may stop.
        environ: the servers that it may use.
    """
    outcome = run(peer, {"size": size, "seconds": seconds}, environ)
    return float(outcome["count"]) / float(outcome["seconds"])


def run(peer: str, workload: dict[str, float], environ: dict[str, str]) -> dict[str, float]:
    """Run a peer's program and return what it printed last."""
    command = [str(python()), "-m", f"tests.benchmarks.peers.{peer}", json.dumps(workload)]
    surroundings = {"PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1", **environ}
    done = subprocess.run(command, cwd=ROOT, env=surroundings, stdout=subprocess.PIPE, text=True, check=True)
    outcome: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return outcome


@functools.cache
def python() -> Path:
    """Return the Python of the peers' virtual environment, made or brought up to date on first use."""
    installed = VENV / "installed.txt"
    if not installed.exists() or installed.read_text() != REQUIREMENTS.read_text():
        print("installing the peers ...", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
        pip = [str(VENV / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", "--no-input"]
        subprocess.run([*pip, "--requirement", str(REQUIREMENTS)], check=True, stdout=sys.stderr)
        installed.write_text(REQUIREMENTS.read_text())
    return VENV / "bin" / "python"
