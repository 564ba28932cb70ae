"""Who may do what over the API: each address of the schema, by each role, as the table says."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from drf_spectacular.generators import SchemaGenerator

from project.kit.api.scopes import READ
from tests.kit.api.caller import Program, chief, token_of
from tests.project.permissions.addresses import ADDRESSES
from tests.project.permissions.roles import ANONYMOUS, ROLES, Visitor, visitor
from tests.scheduler.polling.fleet.conftest import redis

__all__ = ["redis"]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

WRITTEN = {request: (model, needed) for model, requests in ADDRESSES.items() for request, needed in requests.items()}
REFUSED = {401, 403}
# Which are no lists: without what they are asked about they have no answer.
QUESTIONS = {"get schedules/preview/"}


@pytest.fixture(scope="module")
def operations() -> list[str]:
    """Every method and address that the schema tells of."""
    schema: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return [
        f"{method} {re.sub(r'{.*?}', '{}', path).removeprefix('/api/')}"
        for path, methods in schema["paths"].items()
        for method in methods
    ]


def test_every_address_of_the_schema_is_in_the_table(operations: list[str]) -> None:
    sentence = "Write into addresses.py what each new address needs, and take out what is gone"
    assert set(operations) == set(WRITTEN), sentence


@pytest.mark.parametrize("role", ROLES)
def test_each_address_is_for_those_who_may(operations: list[str], role: str) -> None:
    comes = visitor(role)
    calling = comes.program()
    expected = {each: right(comes, each) for each in operations}
    answered = {each: status_of(calling, each) for each in operations}
    assert {each: status for each, status in answered.items() if not expected[each](status)} == {}


def test_a_token_for_looking_does_nothing_whoever_made_it(operations: list[str]) -> None:
    calling = Program(token_of(chief(), READ))
    answered = {each: status_of(calling, each) for each in operations}
    assert [each for each, status in answered.items() if WRITTEN[each][1] and status != 403] == []
    assert [each for each, status in answered.items() if not WRITTEN[each][1] and status in REFUSED] == []


def right(comes: Visitor, operation: str) -> Callable[[int], bool]:
    """Return what is a right status for the visitor: of a list, that it is shown; of a row that is not there, no more
    than that it was looked for.
    """
    model, needed = WRITTEN[operation]
    if comes.role == ANONYMOUS:
        return (401).__eq__
    if not (comes.may_look(model) and comes.may(*needed.split())):
        return (403).__eq__
    if operation.startswith("get") and "{}" not in operation and operation not in QUESTIONS:
        return (200).__eq__
    return lambda status: status not in REFUSED and status < 500


def status_of(calling: Program, operation: str) -> int:
    """Return how a request about no row, that says nothing, is answered; what it did is undone."""
    method, address = operation.split()
    before = transaction.savepoint()
    response = calling.send(method, address.format("999999999"), {}, if_match='"1"')
    transaction.savepoint_rollback(before)
    return response.status_code
