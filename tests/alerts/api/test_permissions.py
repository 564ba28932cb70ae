"""Who may do what over the API: each address by each role. The permissions are those of the control panel."""

import re
from typing import Any

import pytest
from rest_framework.routers import SimpleRouter

from alerts import testing
from alerts.api import RESOURCES
from tests.alerts.admin.desk import MODELS, deliver, make_alert, make_hook, make_silence
from tests.alerts.factories import Sender
from tests.kit.api.caller import Program, chiefs_program, program

pytestmark = pytest.mark.django_db

VIEWS = tuple(f"alerts.view_{model}" for model in MODELS)
OPERATES = ("alerts.handle_alert", "alerts.add_silence", "alerts.change_silence", "alerts.test_channel")
CALLERS = {
    "anonymous": Program,
    "nobody": program,
    "viewer": lambda: program(*VIEWS),
    "operator": lambda: program(*VIEWS, *OPERATES),
    "administrator": chiefs_program,
}
EVERYBODY, OPERATORS, ADMINISTRATORS = (
    {"viewer", "operator", "administrator"},
    {"operator", "administrator"},
    {"administrator"},
)

LATER = "2999-01-01T00:00:00Z"
SILENCE = {"reason": "Migration", "ends_at": LATER}
LIKE_IT = {**SILENCE, "covers": "kind"}
HOOK = {"name": "new", "address": "https://hooks.example.org/x"}

TABLE: dict[tuple[str, str], tuple[Any, set[str]]] = {
    ("get", "alerts/"): (None, EVERYBODY),
    ("get", "alerts/{alert}/"): (None, EVERYBODY),
    ("post", "alerts/{alert}/acknowledge/"): ({}, OPERATORS),
    ("post", "alerts/{alert}/resolve/"): ({"reason": "Fixed"}, OPERATORS),
    ("post", "alerts/{alert}/silence/"): (LIKE_IT, OPERATORS),
    ("get", "silences/"): (None, EVERYBODY),
    ("get", "silences/{silence}/"): (None, EVERYBODY),
    ("post", "silences/"): (SILENCE, OPERATORS),
    ("post", "silences/{silence}/end/"): ({}, OPERATORS),
    ("get", "channels/"): (None, EVERYBODY),
    ("get", "channels/{channel}/"): (None, EVERYBODY),
    ("post", "channels/"): (HOOK, ADMINISTRATORS),
    ("patch", "channels/{channel}/"): ({"keyword": "x"}, ADMINISTRATORS),
    ("post", "channels/{channel}/test/"): ({}, OPERATORS),
    ("post", "channels/{channel}/pause/"): ({}, ADMINISTRATORS),
    ("post", "channels/{off}/enable/"): ({}, ADMINISTRATORS),
    ("get", "deliveries/"): (None, EVERYBODY),
    ("get", "deliveries/{delivery}/"): (None, EVERYBODY),
}


@pytest.fixture
def numbers(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """A row of each kind, by its number."""
    monkeypatch.setattr(testing, "send", Sender())
    channel, alert = make_hook(), make_alert()
    deliver(channel)
    return {
        "alert": alert.pk,
        "silence": make_silence().pk,
        "channel": channel.pk,
        "off": make_hook(enabled=False).pk,
        "delivery": channel.deliveries.get().pk,
    }


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize(("method", "address"), TABLE)
def test_each_address_is_for_those_who_may(numbers: dict[str, int], method: str, address: str, caller: str) -> None:
    body, those_who_may = TABLE[method, address]
    version = {"if_match": '"1"'} if method == "patch" else {}
    response = CALLERS[caller]().send(method, address.format(**numbers), body, **version)
    refused = 401 if caller == "anonymous" else 403
    assert response.status_code in ({200, 201} if caller in those_who_may else {refused}), response.content


def test_the_table_above_names_every_address() -> None:
    router = SimpleRouter(use_regex_path=False)
    for name, resource in RESOURCES.items():
        router.register(name, resource)
    served = {
        (method, str(route.pattern).replace("<int:pk>", "{}"))
        for route in router.urls
        for method in route.callback.actions
    }
    assert served == {(method, re.sub(r"{.*?}", "{}", address)) for method, address in TABLE}
