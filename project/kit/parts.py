"""Long sequences, part by part."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def parts_of(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Yield the items in their order, so many at a time; the last part may hold fewer."""
    return (items[first : first + size] for first in range(0, len(items), size))
