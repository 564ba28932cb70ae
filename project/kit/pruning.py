"""History goes: rows that are older than they are kept, and that nothing needs any more, in small batches.

The oldest rows have the lowest primary keys, so they are found without an index of their own. Each batch is a
transaction of its own, which waits for nobody: two may prune at once, and work goes on.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import and_
from typing import Any

from django.db import transaction
from django.db.models import Exists, Model, Q, QuerySet

BATCH = 500


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of history: whose rows go, and on which conditions.

    Attributes:
        name: what people and settings call it.
        model: the rows; what belongs to one goes with it, as its foreign keys say.
        born: the column that says when a row was written. It grows with the primary key.
        may_go: returns the condition on the rows that are older than the instant, and that nothing needs any more.
        kept_as: the kind whose kept days hold for this one too; empty: it has its own.
        delete: deletes the rows of these keys, where their foreign keys do not say it all.
    """

    name: str
    model: type[Model]
    born: str
    may_go: Callable[[datetime], Q]
    kept_as: str = ""
    delete: Callable[[Sequence[int]], object] | None = None


def count(kind: Kind, *, before: datetime) -> int:
    """Return how many rows of the kind may go now."""
    return _may_go(kind, before).count()


def prune(kind: Kind, *, before: datetime, batch: int = BATCH) -> Iterator[int]:
    """Delete the rows of the kind that may go; yield after each batch how many went. Whoever stops asking, stops it.

    Rows that somebody else holds are left for the next time.

    Args:
        before: rows that are younger than this instant stay.
        batch: at most so many rows a transaction.
    """
    for keys in _old(kind, before, batch):
        if deleted := _prune_batch(kind, keys, before):
            yield deleted


def unless(*needing: QuerySet[Any]) -> Q:
    """Return the condition that none of these rows exists, each asked for with `OuterRef`.

    One NOT EXISTS each, which PostgreSQL joins; beneath a common NOT it would look for each row one by one.
    """
    return reduce(and_, (~Q(Exists(rows)) for rows in needing))


def _old(kind: Kind, before: datetime, batch: int) -> Iterator[list[int]]:
    """Yield the keys of the old rows from the lowest on, until a batch has none."""
    rows = kind.model._base_manager.order_by("pk").values_list("pk", kind.born)
    found = list(rows[:batch])
    while old := [key for key, born in found if born < before]:
        yield old
        found = list(rows.filter(pk__gt=found[-1][0])[:batch])


def _prune_batch(kind: Kind, keys: Sequence[int], before: datetime) -> int:
    rows = _may_go(kind, before)
    with transaction.atomic():
        locked = _lock(rows.filter(pk__in=keys))
        # Asked again, for what was written meanwhile. What is to refer to a locked row waits for this transaction.
        going = list(rows.filter(pk__in=locked).values_list("pk", flat=True))
        if going:
            _delete(kind, going)
    return len(going)


def _lock(rows: QuerySet[Any]) -> list[int]:
    """Lock the rows that nobody else holds, and return their keys."""
    return list(rows.order_by("pk").select_for_update(skip_locked=True).values_list("pk", flat=True))


def _delete(kind: Kind, keys: Sequence[int]) -> None:
    if kind.delete is not None:
        kind.delete(keys)
    else:
        kind.model._base_manager.filter(pk__in=keys).only("pk").delete()


def _may_go(kind: Kind, before: datetime) -> QuerySet[Any]:
    return kind.model._base_manager.filter(kind.may_go(before))
