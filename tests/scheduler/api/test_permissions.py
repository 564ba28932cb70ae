"""Who may do what of the schedules and runs over the API: each address by each role, as in the control panel."""

import json
import re
from typing import Any

import pytest
from django.db import transaction
from rest_framework.routers import SimpleRouter

from scheduler.api import RESOURCES
from tests.kit.api.caller import Program, chiefs_program, program
from tests.kit.api.roles import ROLES, answered_otherwise, caller_as
from tests.scheduler.api.addresses import TABLE
from tests.scheduler.api.desk import MODELS, make_each, version_of

pytestmark = pytest.mark.django_db

VIEWS = tuple(f"scheduler.view_{model}" for model in MODELS)
OPERATES = tuple(
    f"scheduler.{codename}"
    for codename in (
        *("run_schedule", "pause_schedule", "backfill_schedule", "cancel_backfill"),
        *("cancel_taskrun", "retry_taskrun", "resume_taskrun", "answer_approval"),
    )
)


@pytest.mark.parametrize("role", ROLES)
def test_each_address_is_for_those_who_may(role: str) -> None:
    numbers = make_each()
    caller = caller_as(role, VIEWS, OPERATES)
    assert answered_otherwise(role, TABLE, lambda method, path: status_of(caller, method, path, numbers)) == {}


def status_of(caller: Program, method: str, address: str, numbers: dict[str, Any]) -> int:
    """Return how a request is answered; what it did is undone."""
    body, _those_who_may = TABLE[method, address]
    said = json.loads(json.dumps(body).replace("{tomorrow}", numbers["tomorrow"]))
    path = address.format(**numbers)
    version = version_of(chiefs_program(), path) if method in ("patch", "put") else {}
    before = transaction.savepoint()
    response = caller.send(method, path, said, **version)
    transaction.savepoint_rollback(before)
    return response.status_code


def test_the_table_names_every_address() -> None:
    router = SimpleRouter(use_regex_path=False)
    for name, resource in RESOURCES.items():
        router.register(name, resource, basename=name)
    served = {
        (method, re.sub(r"<\w+:pk>", "{}", str(route.pattern)))
        for route in router.urls
        for method in route.callback.actions
    }
    assert served == {(method, re.sub(r"{.*?}|test\.noop", "{}", address.split("?")[0])) for method, address in TABLE}


def test_who_may_start_runs_and_not_look_at_them_starts_none() -> None:
    numbers = make_each()
    blind = program("scheduler.view_schedule", "scheduler.run_schedule")
    assert blind.post(f"schedules/{numbers['schedule']}/run-now/").status_code == 403


@pytest.mark.parametrize(
    ("method", "address", "body"),
    [
        ("post", "runs/", {"job": "command", "params": {"command": "true"}}),
        ("post", "schedules/", {"name": "x", "job": "command", "params": {"command": "true"}, "cron": "@daily"}),
        ("patch", "schedules/{schedule}/", {"job": "command", "params": {"command": "true"}}),
    ],
)
def test_shell_commands_want_a_permission_of_their_own(method: str, address: str, body: Any) -> None:
    numbers = make_each()
    may = [f"scheduler.{verb}_{model}" for verb in ("view", "add", "change") for model in ("schedule", "taskrun")]
    path = address.format(**numbers)
    version = version_of(chiefs_program(), path) if method == "patch" else {}
    refused = program(*may).send(method, path, body, **version)
    assert refused.status_code == 403
    assert "scheduler.use_command_job" in refused.json()["detail"]
    let = program(*may, "scheduler.use_command_job").send(method, path, body, **version)
    assert let.status_code in (200, 201), let.content
