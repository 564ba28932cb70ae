"""What import-linter cannot say: parts of Django itself that domain code does not know."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EDGES = {"admin", "api", "api.py", "apps.py", "checks.py", "management", "migrations", "tasks.py", "jobs"}
FOREIGN = ("django.contrib.admin", "django.contrib.auth", "django.http", "django.shortcuts", "django.views")


def domain_files() -> list[Path]:
    files = [file for app in ("scheduler", "quotas", "alerts") for file in (ROOT / app).rglob("*.py")]
    return [file for file in files if not EDGES & set(file.relative_to(ROOT).parts)]


def imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{name.name}" for name in node.names)


@pytest.mark.parametrize("file", domain_files(), ids=lambda file: str(file.relative_to(ROOT)))
def test_domain_code_knows_neither_pages_nor_users(file: Path) -> None:
    assert [name for name in imports(file) if name.startswith(FOREIGN)] == []


def test_the_rule_above_looks_at_the_domain() -> None:
    assert ROOT / "scheduler" / "firing.py" in domain_files()
