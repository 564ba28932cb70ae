"""What each migration of ours owes to whoever upgrades, and to whoever has to go back."""

from importlib import import_module
from itertools import chain

import pytest
from django.db.migrations.loader import MigrationLoader

OWN = ("alerts", "polling", "project", "quotas", "scheduler")
MIGRATIONS = {
    f"{app}.{name}": migration
    for (app, name), migration in sorted(MigrationLoader(None).disk_migrations.items())
    if app in OWN
}


@pytest.mark.parametrize("name", MIGRATIONS)
def test_a_migration_says_what_going_back_over_it_means(name: str) -> None:
    text = import_module(MIGRATIONS[name].__module__).__doc__ or ""
    assert "owngrade:" in text, "say it in the docstring: “Downgrade: …”"


@pytest.mark.parametrize("name", MIGRATIONS)
def test_a_migration_can_be_taken_back(name: str) -> None:
    assert all(operation.reversible for operation in MIGRATIONS[name].operations)


def test_no_migration_hangs_in_the_air() -> None:
    loader = MigrationLoader(None)
    assert not loader.detect_conflicts()
    leaves = set(chain.from_iterable(loader.graph.leaf_nodes(app) for app in OWN))
    assert {app for app, _name in leaves} == set(OWN)
