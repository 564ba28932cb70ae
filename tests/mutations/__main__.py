"""Break the product in one place after another, and tell which breaks no test has noticed."""

import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module

import pytest

from tests.mutations.trying import Trying

NAMES = (
    *("transitions", "firing", "launching", "claiming", "charging", "evaluating", "resuming"),
    *("order", "limiter", "turns"),
)
# The settings by name, for importing the project has named others; and who waits for each other so long is noticed.
OPTIONS = ("--ds=tests.settings", "-q", "-m", "not slow", "-o", "timeout=60")


def main(names: Sequence[str]) -> int:
    """Run the mutations of these subjects, or of all, each subject in a process of its own; return 1 if a mutation
    survives that no reason accepts.
    """
    if len(names) == 1:
        return _try_all_of(names[0])
    one = [sys.executable, "-m", "tests.mutations"]
    failed = [name for name in names or NAMES if subprocess.run([*one, name], check=False).returncode]
    return int(bool(failed))


def _try_all_of(name: str) -> int:
    subject = import_module(f"tests.mutations.{name}").SUBJECT
    return int(pytest.main([*OPTIONS, *subject.tests], plugins=[Trying(subject)]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
