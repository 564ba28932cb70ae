"""Each test that tests/cases.md names exists, and each case has one."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
TABLE = (TESTS / "cases.md").read_text()
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", TABLE)))
CASES = [line.strip("| ").split(" | ") for line in TABLE.splitlines() if re.match(r"\| B?\d", line)]


@cache
def functions_of(path: str) -> set[str]:
    tree = ast.parse((TESTS / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("path", sorted({path for path, _ in NAMED}))
def test_the_tests_that_are_named_exist(path: str) -> None:
    assert {name for file, name in NAMED if file == path} - functions_of(path) == set()


def test_every_case_says_what_holds_it() -> None:
    assert len(CASES) > 200
    assert [case[0] for case in CASES if len(case) != 4 or not re.search(r"`[\w/]+\.py::test_\w+`", case[3])] == []
