"""Nobody overwrites what somebody else has saved meanwhile: every change of a row, in the panel and over
the API, says on which one it is based.
"""

from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.test import Client
from django.urls import reverse
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
NOTHING_TO_TYPE = {"project.apitoken"}
DJANGOS_OWN = {"auth.user", "auth.group"}


def test_each_form_asks_for_the_version_that_was_opened() -> None:
    unlocked = [
        model._meta.label_lower
        for model, options in admin.site._registry.items()
        if "change" in MODELS[model._meta.label_lower].writes.split() and not isinstance(options, VersionLockMixin)
    ]
    assert set(unlocked) == BY_ACTIONS | NOTHING_TO_TYPE | DJANGOS_OWN
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


# Rows without a column for their version, each with a text that somebody else changes meanwhile.
TOLD_BY_CONTENT = {
    "alerts.silence": "reason",
    "polling.device": "name",
    "scheduler.calendar": "description",
    "scheduler.calendarday": "title",
}


@pytest.mark.django_db
@pytest.mark.usefixtures("redis")
@pytest.mark.parametrize("label", TOLD_BY_CONTENT)
def test_a_form_of_a_row_without_a_version_is_refused_when_the_row_says_something_else_now(label: str) -> None:
    user, field = chief(), TOLD_BY_CONTENT[label]
    furnish(user, now=database_now())
    model = apps.get_model(label)
    row = model._default_manager.first()
    assert row is not None
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[row.pk])
    client = Client()
    client.force_login(user)
    typed = values_of(client.get(address)) | {field: "Typed"}

    model._default_manager.filter(pk=row.pk).update(**{field: "Saved meanwhile"})
    refused = client.post(address, typed)

    page = refused.content.decode()
    assert refused.status_code == 200
    assert "Somebody else saved this while you were editing it" in page
    assert "Saved meanwhile" in page
    assert client.post(address, values_of(refused)).status_code == 302
    assert model._default_manager.values_list(field, flat=True).get(pk=row.pk) == "Typed"


def values_of(page: Any) -> dict[str, Any]:
    """Return what the forms of a page would send."""
    forms = [page.context["adminform"].form]
    for formset in page.context["inline_admin_formsets"]:
        forms += [formset.formset.management_form, *formset.formset.forms]
    named = {form.add_prefix(name): form[name].value() for form in forms for name in form.fields}
    return {name: "" if value is None else value for name, value in named.items()}


def admins(labels: set[str]) -> list[Any]:
    """Return the admins of the models."""
    return [options for model, options in admin.site._registry.items() if model._meta.label_lower in labels]
