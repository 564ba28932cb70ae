"""Nobody overwrites what somebody else has saved meanwhile: every change of a row with a version, in the panel and over
the API, says on which one it is based.
"""

from typing import Any

import pytest
from django.contrib import admin
from django.db.models import Field
from drf_spectacular.generators import SchemaGenerator

from project.api import RESOURCES
from project.kit.admin import ObjectActionsMixin, VersionLockMixin
from project.kit.api.resources import Patching
from project.kit.clock import database_now
from tests.browser.furnishing import furnish
from tests.kit.api.caller import Program, chief, problem_of, token_of
from tests.project.permissions.pages import MODELS
from tests.scheduler.polling.fleet.conftest import redis

__all__ = ["redis"]

# Their values are changed by actions alone, each bound to the version that was seen (test_audit.py).
BY_ACTIONS = {"polling.systemsetting"}


def test_each_form_of_a_row_with_a_version_asks_for_the_version_that_was_opened() -> None:
    unlocked = [
        model._meta.label_lower
        for model, options in admin.site._registry.items()
        if "change" in MODELS[model._meta.label_lower].writes.split()
        and has_version(model)
        and not isinstance(options, VersionLockMixin)
    ]
    assert set(unlocked) == BY_ACTIONS
    assert all(isinstance(options, ObjectActionsMixin) for options in admins(BY_ACTIONS))


def test_each_change_over_the_api_asks_for_a_version() -> None:
    schema: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    changes = {
        path: [each["name"] for each in operations["patch"].get("parameters", []) if each.get("required")]
        for path, operations in schema["paths"].items()
        if "patch" in operations
    }
    assert len(changes) >= 10
    assert [path for path, required in changes.items() if "If-Match" not in required] == []


@pytest.mark.django_db
@pytest.mark.usefixtures("redis")
def test_a_change_that_is_based_on_another_version_is_refused_with_the_row_as_it_is() -> None:
    user = chief()
    furnish(user, now=database_now())
    program = Program(token_of(user))
    for name, view in RESOURCES.items():
        if not issubclass(view, Patching):
            continue
        row = program.get(f"{name}/").json()["results"][0]  # type: ignore[attr-defined]
        address = f"{name}/{row.get('id') or row.get('code') or row.get('key')}/"
        problem_of(program.patch(address, {}), 428)
        stale = program.patch(address, {}, if_match='"999999"')
        assert problem_of(stale, 409)["current"]["version"] == row["version"], name


def has_version(model: Any) -> bool:
    """Tell whether the rows of a model have a version."""
    return any(isinstance(field, Field) and field.name == "version" for field in model._meta.get_fields())


def admins(labels: set[str]) -> list[Any]:
    """Return the admins of the models."""
    return [options for model, options in admin.site._registry.items() if model._meta.label_lower in labels]
