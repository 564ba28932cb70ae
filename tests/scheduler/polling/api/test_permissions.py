"""Who may do what of the polling over the API: each address by each role, as in the control panel."""

import re
from typing import Any

import pytest
from django.db import transaction
from rest_framework.routers import SimpleRouter

from scheduler.polling.api import RESOURCES
from tests.kit.api.caller import Program
from tests.kit.api.roles import ROLES, answered_otherwise, caller_as
from tests.scheduler.polling.admin.desk import MODELS
from tests.scheduler.polling.api.addresses import TABLE, VERSIONS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

VIEWS = (
    "alerts.view_alert",
    *(f"polling.view_{model}" for model in (*MODELS, "cardoperation", "checkrequest", "checkscene", "cutover")),
)
OPERATES = ("alerts.handle_alert", "polling.check_card", "polling.operate_card")


@pytest.mark.parametrize("role", ROLES)
def test_each_address_is_for_those_who_may(numbers: dict[str, Any], role: str) -> None:
    caller = caller_as(role, VIEWS, OPERATES)
    assert answered_otherwise(role, TABLE, lambda method, path: status_of(caller, method, path, numbers)) == {}


def status_of(caller: Program, method: str, address: str, numbers: dict[str, Any]) -> int:
    """Return how a request is answered; what it did is undone."""
    body, _those_who_may = TABLE[method, address]
    version = VERSIONS.get(address, 0)
    before = transaction.savepoint()
    response = caller.send(
        method, address.format(**numbers), filled_in(body, numbers), if_match=f'"{numbers.get(version, version)}"'
    )
    transaction.savepoint_rollback(before)
    return response.status_code


def filled_in(body: Any, numbers: dict[str, Any]) -> Any:
    """Return a body with the numbers of the rows that it names in braces."""
    if not isinstance(body, dict):
        return body
    return {name: numbers.get(str(value).strip("{}"), value) for name, value in body.items()}


def test_the_table_names_every_address() -> None:
    router = SimpleRouter(use_regex_path=False)
    for name, resource in RESOURCES.items():
        router.register(name, resource, basename=name)
    served = {
        (method, re.sub(r"<\w+:pk>", "{}", str(route.pattern)))
        for route in router.urls
        for method in route.callback.actions
    }
    assert served == {(method, re.sub(r"{.*?}", "{}", address)) for method, address in TABLE}
