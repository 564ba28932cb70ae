"""People at the control panel: who they are, what they may, and what they are shown."""

import itertools
import re
from html import unescape
from html.parser import HTMLParser
from typing import Any

from django.contrib.auth.models import Permission, User
from django.contrib.messages import get_messages
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

_numbers = itertools.count(1)

_VIEWED = ("schedule", "taskrun", "fire", "attempt", "runevent", "approval", "backfill", "calendar", "calendarday")
VIEWS = tuple(f"scheduler.view_{model}" for model in _VIEWED)


def person(*permissions: str, **options: Any) -> Client:
    """Log in somebody of the staff with these permissions (`app.codename`), who may also look at everything."""
    user = User.objects.create_user(f"person {next(_numbers)}", is_staff=True)
    for permission in {*permissions, *VIEWS}:
        app, codename = permission.split(".")
        user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))
    return _logged_in(user, **options)


def chief(**options: Any) -> Client:
    """Log in somebody who may do everything."""
    return _logged_in(User.objects.create_superuser(f"chief {next(_numbers)}"), **options)


def _logged_in(user: User, **options: Any) -> Client:
    client = Client(**options)
    client.force_login(user)
    return client


def name_of(client: Client) -> str:
    """Return the name under which the client is logged in."""
    return User.objects.get(pk=client.session["_auth_user_id"]).username


def list_of(model: str, query: str = "") -> str:
    """Return the address of a list."""
    return reverse(f"admin:scheduler_{model}_changelist") + query


def page_of(row: Any) -> str:
    """Return the address of a row's page."""
    return reverse(f"admin:scheduler_{row._meta.model_name}_change", args=[row.pk])


def action_on(row: Any, name: str) -> str:
    """Return the address of an action on a row."""
    return reverse(f"admin:scheduler_{row._meta.model_name}_action", args=[row.pk, name])


def confirm(client: Client, row: Any, name: str, **values: Any) -> HttpResponse:
    """Open the confirmation of an action, and confirm what it showed."""
    page = client.get(action_on(row, name))
    seen = page.context["seen"] if page.context else ""
    return client.post(action_on(row, name), {"seen": seen, "reason": "", **values})


class _Fields(HTMLParser):
    """Collects what the fields of one form hold."""

    def __init__(self, form_id: str) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self._form_id, self._inside, self._select, self._textarea = form_id, False, "", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        field = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._inside = field.get("id") == self._form_id
        elif not self._inside:
            return
        elif tag == "input" and field.get("type") == "checkbox":
            if "checked" in field:
                self.values[field["name"]] = "on"
        elif tag == "input" and field.get("type") != "submit":
            self.values[field["name"]] = field.get("value", "")
        elif tag == "select":
            self._select = field["name"]
        elif tag == "option" and self._select and "selected" in field:
            self.values[self._select] = field["value"]
        elif tag == "textarea":
            self._textarea = field["name"]

    def handle_data(self, data: str) -> None:
        if self._textarea:
            self.values[self._textarea] = data.removeprefix("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("select", "textarea", "form"):
            self._select = self._textarea = ""
            self._inside = self._inside and tag != "form"


def posted_by(page: HttpResponse, form_id: str) -> dict[str, str]:
    """Return what a browser would post if nobody touched the form."""
    fields = _Fields(form_id)
    fields.feed(page.content.decode())
    return fields.values


def told(response: HttpResponse) -> list[str]:
    """Return the messages that the response's request left for the person."""
    return [str(message) for message in get_messages(response.wsgi_request)]  # type: ignore[attr-defined]


def text_of(response: HttpResponse) -> str:
    """Return a page's text without its markup, its spaces tidied."""
    without_tags = re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", response.content.decode(), flags=re.DOTALL)
    return " ".join(unescape(without_tags).split())


def listed(response: HttpResponse) -> list[Any]:
    """Return the keys of the rows that a list shows."""
    return [row.pk for row in response.context["cl"].result_list]  # type: ignore[attr-defined]
