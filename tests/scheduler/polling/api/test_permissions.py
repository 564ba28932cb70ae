"""Who may do what of the polling over the API: each address by each role, as in the control panel."""

import re
from typing import Any

import pytest
from django.db import transaction
from rest_framework.routers import SimpleRouter

from scheduler.polling.api import RESOURCES
from tests.kit.api.caller import Program, chiefs_program, program
from tests.scheduler.polling.admin.desk import MODELS
from tests.scheduler.polling.api.addresses import TABLE, VERSIONS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

VIEWS = (
    "alerts.view_alert",
    *(f"polling.view_{model}" for model in (*MODELS, "cardoperation", "checkrequest", "checkscene", "cutover")),
)
OPERATES = ("alerts.handle_alert", "polling.check_card", "polling.operate_card")
CALLERS = {
    "anonymous": Program,
    "nobody": program,
    "viewer": lambda: program(*VIEWS),
    "operator": lambda: program(*VIEWS, *OPERATES),
    "administrator": chiefs_program,
}


@pytest.mark.parametrize("caller", CALLERS)
def test_each_address_is_for_those_who_may(numbers: dict[str, Any], caller: str) -> None:
    calling, refused = CALLERS[caller](), {401 if caller == "anonymous" else 403}
    expected = {each: {200, 201, 204} if caller in those else refused for each, (_body, those) in TABLE.items()}
    answered = {each: status_of(calling, *each, numbers) for each in TABLE}
    assert {each: status for each, status in answered.items() if status not in expected[each]} == {}


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
