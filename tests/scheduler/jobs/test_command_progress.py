"""The file by which a command checkpoints."""

import json
from pathlib import Path

import pytest

from scheduler.models import TaskRun
from scheduler.states import RunState
from tests.scheduler.jobs.conftest import Executed, Runs
from tests.scheduler.jobs.waiting import meanwhile, wait_until

BASH = {"shell": "/bin/bash"}


def shell(runs: Runs, command: str, **params: object) -> Executed:
    return runs.perform("command", {"command": command, **params})


def test_the_file_begins_with_the_runs_progress_and_what_is_written_there_becomes_it(runs: Runs) -> None:
    command = 'cat "$TIDELINE_PROGRESS_FILE"; cat > "$TIDELINE_PROGRESS_FILE"'
    written = '{"page": 9, "done": 9, "total": 12}'
    executed = runs.perform(
        "command",
        {"command": f"{command} <<< '{written}'", **BASH},
        progress={"page": 8, "seen": [1]},
        progress_done=8,
    )

    assert json.loads(executed.output) == {"page": 8, "seen": [1], "done": 8}
    assert executed.run.progress == {"page": 9, "seen": [1]}
    assert (executed.run.progress_done, executed.run.progress_total) == (9, 12)


def test_a_change_is_checkpointed_while_the_command_runs(runs: Runs, tmp_path: Path) -> None:
    command = 'echo \'{"page": 1}\' > "$TIDELINE_PROGRESS_FILE"; while [ ! -e go ]; do sleep 0.05; done'
    run = runs.open("command", {"command": command, "cwd": str(tmp_path)})

    def let_go_when_checkpointed() -> None:
        wait_until(lambda: TaskRun.objects.get(pk=run.pk).progress == {"page": 1}, "the checkpoint")
        (tmp_path / "go").touch()

    with meanwhile(let_go_when_checkpointed):
        assert runs.execute(run).state == RunState.DONE


def test_half_written_content_is_awaited(runs: Runs, tmp_path: Path) -> None:
    command = (
        'printf \'{"page": \' > "$TIDELINE_PROGRESS_FILE"; touch half; while [ ! -e go ]; do sleep 0.05; done;'
        " printf '5}' >> \"$TIDELINE_PROGRESS_FILE\""
    )
    run = runs.open("command", {"command": command, "cwd": str(tmp_path)})

    def let_go_after_some_looks() -> None:
        wait_until((tmp_path / "half").exists, "the half-written file")
        runs.signals.wait_for_looks()
        (tmp_path / "go").touch()

    with meanwhile(let_go_after_some_looks):
        executed = runs.execute(run)

    assert executed.run.progress == {"page": 5}
    assert executed.output == ""


@pytest.mark.parametrize("content", ["[1, 2]", "{", "NaN", '{"a": NaN}', r'{"a": "\u0000"}'])
def test_content_that_is_no_progress_is_mentioned_and_fails_nothing(runs: Runs, content: str) -> None:
    executed = runs.perform(
        "command",
        {"command": 'cat > "$TIDELINE_PROGRESS_FILE"', "stdin": content.replace("\\", "\\")},
        progress={"page": 1},
    )

    assert executed.state == RunState.DONE
    assert executed.run.progress == {"page": 1}
    assert "checkpointed" in executed.output


@pytest.mark.parametrize("count", ["-1", "1.5", "true", '"7"', str(2**63)])
def test_a_count_that_is_none_moves_no_bar(runs: Runs, count: str) -> None:
    executed = shell(runs, f'echo \'{{"page": 1, "done": {count}}}\' > "$TIDELINE_PROGRESS_FILE"')

    assert executed.state == RunState.DONE
    assert executed.run.progress_done is None
    assert executed.run.progress == {"page": 1}


@pytest.mark.parametrize("trick", ["rm -f F; mkfifo F", "ln -sf /etc/hostname F", "rm -f F; mkdir F"])
def test_something_else_in_the_files_place_is_not_read(runs: Runs, trick: str) -> None:
    executed = shell(runs, trick.replace("F", '"$TIDELINE_PROGRESS_FILE"'))

    assert executed.state == RunState.DONE
    assert executed.run.progress == {}


def test_its_folder_is_private_and_gone_afterwards(runs: Runs) -> None:
    executed = shell(runs, 'stat -c %a "$(dirname "$TIDELINE_PROGRESS_FILE")"; echo "$TIDELINE_PROGRESS_FILE"')

    mode, path = executed.output.splitlines()
    assert mode == "700"
    assert not Path(path).parent.exists()
