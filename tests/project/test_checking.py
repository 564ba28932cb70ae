"""No process starts with settings that a system check calls an error."""

import pytest
from pytest_django import Settings

from project.celery import refuse_errors
from tests.processes import Processes


def test_an_error_ends_the_process_with_its_sentence_and_its_remedy(settings: Settings) -> None:
    refuse_errors()
    settings.TIDELINE_QUEUE_LIMIT = 0
    with pytest.raises(SystemExit, match="no run would ever be launched") as refused:
        refuse_errors()
    assert "1000 is usual" in str(refused.value)


@pytest.mark.slow
def test_a_bad_key_keeps_the_processes_from_starting_and_is_not_shown(processes: Processes) -> None:
    started = [processes.start(name, TIDELINE_SECRETS_KEYS="bad-key", PORT="0") for name in ("web", "worker", "beat")]
    for process in started:
        assert process.wait(60) != 0
        assert "Key 1 of TIDELINE_SECRETS_KEYS is too short" in process.output
        assert "bad-key" not in process.output
