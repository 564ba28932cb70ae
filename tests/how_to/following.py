"""Does what a how-to says in a copy of the project: makes files, changes those that are there, gives its commands.

What a block of code is for stands in the text before it: the last name of a file in backticks. A block of `python` or
`json` is that file, one of `diff` changes it, one of `console` is given to the shell.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

ROOT = Path(settings.BASE_DIR)
WRITTEN, CHANGED, GIVEN = ("python", "csv"), "diff", "console"
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


def follow(page: str, project: Path) -> None:
    """Do all that the page says.

    Raises:
        AssertionError: what it changes is not there as it says, or a command fails.
    """
    for step in steps_of(page):
        if step.kind == GIVEN:
            for command in re.findall(r"^\$ (.*)$", step.text, re.MULTILINE):
                give(command, project)
        elif step.kind == CHANGED:
            file = project / step.file
            file.write_text(changed(file.read_text(), step))
        elif step.kind in WRITTEN:
            file = project / step.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(step.text)


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
    """Give the command in the project; tests start servers of their own there.

    Raises:
        AssertionError: it fails; the text is what it said.
    """
    python = f'"{sys.executable}"'
    line = command.replace("bin/test", f"{python} -m pytest -q -p no:cacheprovider").replace("python3 ", f"{python} ")
    left_out = OURS if command.startswith("bin/test") else ()
    surroundings = {name: value for name, value in os.environ.items() if name not in left_out}
    done = subprocess.run(line, shell=True, cwd=project, env=surroundings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"$ {command}\n{done.stdout}\n{done.stderr}"
