"""Whatever is done, through a page or over the API, stands in the audit log with who did it and why; and what was not
seen as it is, is not done.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models import Model
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from alerts import testing
from project.api import RESOURCES
from project.kit.api.models import ApiToken
from tests.alerts.factories import Sender
from tests.kit.api.caller import Program, token_of
from tests.panel import asked_by, text_of, told
from tests.project.permissions.pages import MODELS
from tests.project.permissions.roles import ADMINISTRATOR, visitor
from tests.project.permissions.scenes import SCENES, scene
from tests.scheduler.polling.fleet.conftest import redis

__all__ = ["redis"]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis", "_no_network")]

WHY = "as ticket 4711 asks"
ACTIONS = [(model, name) for model, written in MODELS.items() for name in written.actions]


def _offers() -> Iterator[tuple[str, str, str]]:
    """Yield each action that the API offers: its resource, its model and its name."""
    for resource, view in RESOURCES.items():
        for method in view.get_extra_actions():
            if offered := getattr(method, "offers", None):
                yield resource, view.queryset.model._meta.label_lower, offered.name


OFFERS = list(_offers())


@pytest.fixture
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A channel takes its test message."""
    monkeypatch.setattr(testing, "send", Sender())


def test_there_is_a_scene_for_each_action() -> None:
    assert set(SCENES) == set(ACTIONS), "Write into scenes.py with which row each new action is possible"


@pytest.mark.parametrize(("model", "action"), ACTIONS)
def test_an_action_of_the_panel_is_logged_with_who_and_why(model: str, action: str) -> None:
    row, values = scene(model, action)
    comes = visitor(ADMINISTRATOR)
    response = confirm(comes.browser(), row, action, reason=WHY, **values)
    assert response.status_code == 302, text_of(response)
    entry = LogEntry.objects.get()
    assert (entry.user, entry.object_id) == (comes.user, str(row.pk)), told(response)
    assert entry.change_message.endswith(f": {WHY}")


@pytest.mark.parametrize(("resource", "model", "action"), OFFERS)
def test_an_action_over_the_api_is_logged_with_who_and_why_and_by_which_token(
    resource: str, model: str, action: str
) -> None:
    row, values = scene(model, action)
    # programs are shown the tokens of their own user alone
    user = row.user if isinstance(row, ApiToken) else visitor(ADMINISTRATOR).user
    assert user
    response = Program(token_of(user)).post(f"{resource}/{row.pk}/{action}/", {"reason": WHY, **values})
    assert response.status_code in {200, 201, 204}, response.content.decode()
    entry = LogEntry.objects.get()
    assert (entry.user, entry.object_id) == (user, str(row.pk))
    assert entry.change_message.endswith(f": {WHY}. Token: script.")


@pytest.mark.parametrize(("model", "action"), ACTIONS)
def test_what_was_not_seen_as_it_is_is_not_done(model: str, action: str) -> None:
    row, values = scene(model, action)
    client = visitor(ADMINISTRATOR).browser()
    response = confirm(client, row, action, reason=WHY, **values, seen="as it was before")
    assert response.status_code == 409
    assert not LogEntry.objects.exists()


def confirm(client: Client, row: Model, action: str, **values: Any) -> HttpResponse:
    """Open the confirmation of an action, and send it; once more, where it first tells how much that will be."""
    address = reverse(f"admin:{row._meta.label_lower.replace('.', '_')}_action", args=[row.pk, action])
    response = _send(client, address, client.get(address), values)
    return _send(client, address, response, values) if response.status_code == 200 else response


def _send(client: Client, address: str, page: HttpResponse, values: dict[str, Any]) -> HttpResponse:
    """Send what a page holds, filled in with the values."""
    return client.post(address, asked_by(page, **values))
