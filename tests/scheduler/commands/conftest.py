"""A shell for the tests of the command line."""

import pytest

from tests.scheduler.commands.asking import Shell


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    """What calls verbs."""
    return Shell(capsys)
