"""Does what a how-to says in a copy of the project: makes files, changes those that are there, gives its commands.

What a block of code is for stands in the text before it: the last name of a file in backticks. A block of `python`
is that file, one of `diff` changes it, and the lines of `console` behind a `$` are given.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

ROOT = Path(settings.BASE_DIR)
WRITTEN, CHANGED, GIVEN = "python", "diff", "console"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"`([\w./-]+\.\w+)`")
# What these tests have from tests/settings.py; others find their own.
OURS = ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "PYTEST_XDIST_WORKER")
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "artefacts", "node_modules", "*.png")


@dataclass(frozen=True, slots=True)
class Step:
    """One block of a how-to: what kind it is, the file that it is about, and its lines."""

    kind: str
    file: str
    text: str


def steps_of(page: str) -> Iterator[Step]:
    """Yield the blocks of the page in their order."""
    file, told = "", 0
    for block in BLOCK.finditer(page):
        named = FILE.findall(page[told : block.start()])
        file, told = (named[-1] if named else file), block.end()
        yield Step(block[1], file, block[2])


def copied(folder: Path) -> Path:
    """Return a copy of the project in the folder."""
    return Path(shutil.copytree(ROOT, folder / "project", ignore=LEFT_OUT))


def follow(page: str, project: Path) -> list[str]:
    """Do all that the page says but its tests, and return what these are.

    Raises:
        AssertionError: what it changes is not there as it says, or a command fails.
    """
    tests: list[str] = []
    for step in steps_of(page):
        file = project / step.file
        if step.kind == GIVEN:
            commands = re.findall(r"^\$ (.*)$", step.text, re.MULTILINE)
            tests += [name for command in commands for name in named_tests(command)]
            for command in commands:
                if not named_tests(command):
                    give(command, project)
        elif step.kind == CHANGED:
            file.write_text(changed(file.read_text(), step))
        elif step.kind == WRITTEN:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(step.text)
    return tests


def named_tests(command: str) -> list[str]:
    """Return what a command tests; nothing if it does something else."""
    name, *arguments = command.split()
    return arguments if name == "bin/test" else []


def changed(text: str, step: Step) -> str:
    """Return the text with the lines that begin with a plus in place of those with a minus.

    Raises:
        AssertionError: the lines are not in it, or more than once.
    """
    lines = step.text.splitlines(keepends=True)
    before, after = ("".join(line[1:] for line in lines if line[0] != sign) for sign in "+-")
    assert text.count(before) == 1, f"{step.file} has {text.count(before)} times:\n{before}"
    return text.replace(before, after)


def give(command: str, project: Path) -> None:
    """Give the command, which begins with python3, in the project.

    Raises:
        AssertionError: it fails; the text is what it said.
    """
    run(command.split()[1:], project, os.environ)


def try_out(names: list[str], project: Path) -> None:
    """Run the tests of the project, on servers of their own.

    Raises:
        AssertionError: one fails; the text is what they said.
    """
    surroundings = {name: value for name, value in os.environ.items() if name not in OURS}
    run(["-m", "pytest", "-q", "-p", "no:cacheprovider", *names], project, surroundings)


def run(arguments: list[str], project: Path, surroundings: Mapping[str, str]) -> None:
    """Run this Python in the project.

    Raises:
        AssertionError: it ends with a status; the text is what it said.
    """
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=project, env=surroundings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(arguments)}\n{done.stdout}\n{done.stderr}"
