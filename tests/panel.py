"""People at the control panel: who they are, what they may, what they are asked, and what they are shown."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser
from typing import Any

from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.people import user_with


def chief(**options: Any) -> Client:
    """Log in somebody who may do everything."""
    return logged_in(user_with(is_staff=True, is_superuser=True), **options)


def colleague(*permissions: str, **options: Any) -> Client:
    """Log in somebody of the staff with these permissions (`app.codename`), and no others."""
    return logged_in(user_with(*permissions, is_staff=True), **options)


def logged_in(user: User, **options: Any) -> Client:
    """Return a browser in which the user is logged in."""
    client = Client(**options)
    client.force_login(user)
    return client


def name_of(client: Client) -> str:
    """Return the name under which the client is logged in."""
    return User.objects.get(pk=client.session["_auth_user_id"]).username


@dataclass(frozen=True, slots=True)
class Desk:
    """The pages of one app, and who sits before them."""

    app: str
    models: Sequence[str]

    def member(self, *codenames: str) -> Client:
        """Log in somebody of the staff who has these permissions of the app."""
        return colleague(*(f"{self.app}.{codename}" for codename in codenames))

    def viewer(self, *codenames: str) -> Client:
        """Log in somebody who may look at everything of the app, and has these permissions besides."""
        return self.member(*(f"view_{model}" for model in self.models), *codenames)

    def list_of(self, model: str, query: str = "") -> str:
        """Return the address of a list."""
        return reverse(f"admin:{self.app}_{model}_changelist") + query

    def page_of(self, row: Any, view: str = "change", *args: str) -> str:
        """Return the address of a row's page, or of another view of it."""
        return reverse(f"admin:{self.app}_{row._meta.model_name}_{view}", args=[row.pk, *args])

    def confirm(self, client: Client, row: Any, action: str, **values: Any) -> HttpResponse:
        """Open the confirmation of an action, and send what it showed with these values."""
        address = self.page_of(row, "action", action)
        return client.post(address, asked_by(client.get(address), **values))


# --- what a page asks ----------------------------------------------------------------------------------------------


def asked_by(page: HttpResponse, **values: Any) -> dict[str, Any]:
    """Return what a confirmation's page posts, filled in with these values; of a page that was refused, just these."""
    shown = page.context or {}  # type: ignore[attr-defined]
    hidden = {field.name: field.value() for field in shown["form"].hidden_fields()} if "form" in shown else {}
    given = {name: value for name, value in hidden.items() if value is not None}
    return {"seen": shown.get("seen", ""), "reason": "", **given, **values}


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


def errors_of(response: HttpResponse) -> dict[str, list[str]]:
    """Return what the form says, by field."""
    assert response.status_code == 200, told(response)
    return {name: list(said) for name, said in response.context["adminform"].form.errors.items()}  # type: ignore[attr-defined]


def queries_of(address: str) -> list[str]:
    """Return the SQL of a request for the page, by somebody whose permissions are known already."""
    client = chief()
    client.get(address)
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200, address
    return [query["sql"] for query in captured]
