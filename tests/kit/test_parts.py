"""Long sequences are taken part by part: nothing twice, nothing left out, in their order."""

import pytest

from project.kit.parts import parts_of


@pytest.mark.parametrize(
    ("items", "parts"),
    [([], []), ([1], [[1]]), ([1, 2], [[1, 2]]), ([1, 2, 3], [[1, 2], [3]]), ([1, 2, 3, 4], [[1, 2], [3, 4]])],
)
def test_each_item_is_in_one_part_and_only_the_last_part_is_smaller(items: list[int], parts: list[list[int]]) -> None:
    assert list(parts_of(items, 2)) == parts
