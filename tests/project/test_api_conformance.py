"""The API answers as it describes itself: schemathesis makes requests from the schema, right ones and wrong ones, and
looks that none breaks anything and that each answer is what the schema says.

In the suite each operation is asked a few times, always the same. `TIDELINE_API_EXAMPLES=500` asks each so often, and
otherwise every time.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.schemas import BaseSchema

from alerts import testing
from project.api import RESOURCES
from project.kit.api.throttling import PerCaller
from project.kit.clock import database_now
from project.wsgi import application
from tests.alerts.factories import Sender
from tests.browser.furnishing import furnish
from tests.kit.api.caller import chief, token_of
from tests.scheduler.polling.fleet.conftest import redis

__all__ = ["redis"]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis"), pytest.mark.slow]

EXAMPLES = int(os.environ.get("TIDELINE_API_EXAMPLES", "0"))
A_FEW = 3
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@pytest.fixture
def _one_connection(db: None) -> Iterator[None]:
    """Let requests work on the test's own connection, as those of Django's client do."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def headers(_one_connection: None, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The token of an administrator who may ask as often as he likes, in a house with rows of every kind."""
    monkeypatch.setattr(PerCaller, "allow_request", lambda *_: True)
    monkeypatch.setattr(testing, "send", Sender())
    user = chief()
    furnish(user, now=database_now())
    return {"Authorization": f"Bearer {token_of(user)}"}


@pytest.fixture
def schema(headers: dict[str, str]) -> BaseSchema:
    """The schema, as a program reads it."""
    loaded: BaseSchema = schemathesis.openapi.from_wsgi("/api/schema/", application, headers=headers)
    return loaded


@pytest.mark.timeout(0 if EXAMPLES else 300)
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_every_operation_answers_as_the_schema_says(
    schema: BaseSchema, headers: dict[str, str], mode: GenerationMode
) -> None:
    found = {}
    for result in schema.get_all_operations():
        operation = result.ok()
        if reason := _misfit(operation, mode, headers):
            found[operation.label] = reason
    assert not found, "\n\n".join(f"{label}: {reason}" for label, reason in found.items())


def _misfit(operation: APIOperation[Any, Any, Any, Any], mode: GenerationMode, headers: dict[str, str]) -> str:
    """Return what is wrong with an answer of the operation; empty: nothing was found."""
    try:
        _asking(operation, mode, headers)()
    except BaseExceptionGroup as group:
        return "\n".join(str(error) for error in group.exceptions)
    except AssertionError as error:
        return str(error)
    return ""


def _asking(
    operation: APIOperation[Any, Any, Any, Any], mode: GenerationMode, headers: dict[str, str]
) -> Callable[[], None]:
    keys, cases = _keys(operation.path), operation.as_strategy(generation_mode=mode)

    @settings(
        max_examples=EXAMPLES or A_FEW,
        database=None,
        deadline=None,
        derandomize=not EXAMPLES,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases, key=st.sampled_from([None, *keys]))
    def ask(case: Case, key: Any) -> None:
        if key is not None:
            case.path_parameters |= dict.fromkeys(case.path_parameters, key)
        with _undone():
            case.validate_response(case.call(headers=headers), checks=CHECKS)

    return ask


@contextmanager
def _undone() -> Iterator[None]:
    before = transaction.savepoint()
    try:
        yield
    finally:
        transaction.savepoint_rollback(before)


def _keys(path: str) -> Sequence[Any]:
    """Return the keys of rows that an address is about, where it is about one."""
    if "{" not in path:
        return ()
    resource = RESOURCES[path.split("/")[2]]
    rows: Any = resource.queryset
    return list(rows.order_by("pk").values_list("pk", flat=True)[:20])
