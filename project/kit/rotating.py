"""Writes all stored secrets anew with the present key, so that an old one can be taken away."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from django.apps import apps
from django.db import transaction
from django.db.models import Model

from project.kit.secrets import SecretField, UnreadableSecret

BATCH = 500


@dataclass(slots=True)
class Rotated:
    """What was done.

    Attributes:
        secrets: how many were written anew.
        unreadable: those that no key reads, each as "channel 7: address"; they are left as they are.
    """

    secrets: int = 0
    unreadable: list[str] = field(default_factory=list)


def rotate_secrets(*, batch: int = BATCH) -> Rotated:
    """Encrypt each secret of each row of all models with the present key; return what was done.

    Each batch of rows is a transaction of its own, which locks them. Interrupted, it can be started again.
    """
    rotated = Rotated()
    for model, columns in secret_columns():
        last = None
        while (last := _rotate_batch(model, columns, last, batch, rotated)) is not None:
            pass
    return rotated


def secret_columns() -> Iterator[tuple[type[Model], list[str]]]:
    """Yield the models that hold secrets, with the names of the columns that do."""
    for model in apps.get_models():
        columns = [column.name for column in model._meta.local_concrete_fields if isinstance(column, SecretField)]
        if columns:
            yield model, columns


def _rotate_batch(model: type[Model], columns: list[str], last: object, batch: int, rotated: Rotated) -> object | None:
    """Rotate the next rows behind the last key; return the key of the last of them, or None: there were none."""
    with transaction.atomic():
        rows = model._base_manager.select_for_update().order_by("pk").only("pk", *columns)
        if last is not None:
            rows = rows.filter(pk__gt=last)
        found = list(rows[:batch])
        for row in found:
            _rotate_row(row, columns, rotated)
    return found[-1].pk if found else None


def _rotate_row(row: Model, columns: list[str], rotated: Rotated) -> None:
    anew = {}
    for name in columns:
        if secret := getattr(row, name):
            try:
                anew[name] = secret.rotated()
            except UnreadableSecret:
                rotated.unreadable.append(f"{row._meta.verbose_name} {row.pk}: {name}")
    if anew:
        type(row)._base_manager.filter(pk=row.pk).update(**anew)
        rotated.secrets += len(anew)
