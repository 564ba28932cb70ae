"""What docs/deploy says, for the tests that compare it with the code."""

import ast
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from project.processes import commands

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "docs" / "deploy"
PROCESSES = commands(ROOT / "Procfile")
READERS = {"choice", "flag", "number", "days", "words", "redis", "postgresql", "get"}
ROW = re.compile(r"^\| `([A-Z][A-Z_]+)` \| (.+?) \| .*\|$", re.MULTILINE)
EMPTY = {"", "–"}


def text(name: str) -> str:
    """Return a file of docs/deploy."""
    return (DEPLOY / name).read_text()


def yaml_of(name: str) -> list[Any]:
    """Return the documents of a YAML file of docs/deploy."""
    return list(yaml.safe_load_all(text(name)))


def environment() -> dict[str, str]:
    """Return the environment that the README documents, each `<random>` being one."""
    (block,) = re.findall(r"```ini\n(.*?)```", text("README.md"), re.DOTALL)
    pairs = (line.strip().split("=", 1) for line in block.strip().splitlines())
    return {name: value.replace("<random>", secrets.token_urlsafe(48)) for name, value in pairs}


def documented() -> dict[str, str]:
    """Return the variables of the README's tables, with their defaults as they stand there."""
    return {name: default.strip("`") for name, default in ROW.findall(text("README.md"))}


def read_by_the_code() -> dict[str, str | None]:
    """Return the variables that the settings and the Procfile read, with their defaults; None: it is computed."""
    return dict(_of_the_settings()) | dict(_of_the_procfile())


def _of_the_settings() -> Iterator[tuple[str, str | None]]:
    for node in ast.walk(ast.parse((ROOT / "project" / "settings.py").read_text())):
        if isinstance(node, ast.Call) and _name(node.func) in READERS and isinstance(node.args[0], ast.Constant):
            yield str(node.args[0].value), _default(node)


def _name(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _default(call: ast.Call) -> str | None:
    if len(call.args) == 1:
        return ""
    try:
        value = ast.literal_eval(call.args[1])
    except ValueError:
        return None
    return str(int(value)) if isinstance(value, bool) else str(value)


def _of_the_procfile() -> Iterator[tuple[str, str | None]]:
    for command in PROCESSES.values():
        for name, default, required in re.findall(r"\$\{([A-Z_]+):(?:-([^}]*)|(\?)[^}]*)\}", command):
            yield name, "required" if required else default


def manage(*arguments: str, folder: Path = ROOT, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run manage.py with these variables alone, beside the path to Python, and no try-out."""
    surroundings = {"PATH": os.environ["PATH"], "TIDELINE_STATE_DIR": os.devnull, **environ}
    command = [sys.executable, str(folder / "manage.py"), *arguments]
    return subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, text=True, check=False)
