"""How often Python looks for objects that only refer to each other."""

import gc
from collections.abc import Iterator

import pytest

from project.kit.collecting import COLLECT_AFTER, collect_rarely


@pytest.fixture
def habits_kept() -> Iterator[None]:
    """Leave Python's habits as they were."""
    habits = gc.get_threshold()
    yield
    gc.set_threshold(*habits)
    gc.unfreeze()


@pytest.mark.usefixtures("habits_kept")
def test_what_is_loaded_is_looked_through_no_more_and_what_comes_rarely() -> None:
    loaded = [object()]
    collect_rarely()
    assert gc.get_freeze_count() > 1000
    assert not any(found is loaded for found in gc.get_objects())
    assert gc.get_threshold() == COLLECT_AFTER


@pytest.mark.usefixtures("habits_kept")
def test_objects_that_only_refer_to_each_other_go_in_the_end() -> None:
    collect_rarely()
    gone: list[bool] = []

    class Ring:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            gone.append(True)

    Ring()
    kept = [[] for _ in range(2 * COLLECT_AFTER[0])]
    assert (gone, len(kept)) == ([True], 2 * COLLECT_AFTER[0])
