"""Who may do what in the control panel: each page and each action, by each role, as the table says."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db.models import Model
from django.test import RequestFactory
from django.urls import reverse

from project.kit.admin import ObjectPageMixin
from project.kit.clock import database_now
from tests.browser.furnishing import furnish
from tests.project.permissions.pages import MODELS, PAGES, Written
from tests.project.permissions.roles import ANONYMOUS, ROLES, Visitor, permission_to, visitor
from tests.scheduler.polling.fleet.conftest import redis

__all__ = ["redis"]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

USUAL = {"changelist", "add", "change", "delete", "history", "action", "bulk_action"}
SHOWN, REFUSED, TO_LOGIN = {200, 302}, {403}, {302}
REGISTERED = {model._meta.label_lower: options for model, options in admin.site._registry.items()}


# --- the table is whole --------------------------------------------------------------------------------------------


def test_every_model_of_the_panel_is_in_the_table() -> None:
    sentence = "Write into pages.py what can be done with the rows of these, and take out what is gone"
    assert set(REGISTERED) == set(MODELS), sentence


@pytest.mark.parametrize("model", MODELS)
def test_what_can_be_done_and_what_it_needs_is_as_the_table_says(model: str) -> None:
    written = MODELS[model]
    assert there_is(model) == {
        "writes": set(written.writes.split()),
        "actions": dict(written.actions),
        "bulk": set(written.bulk.split()),
        "pages": set(written.pages),
    }, f"Who may do what with {model} is not as written: correct pages.py, once it is decided who may"


def there_is(model: str) -> dict[str, Any]:
    """Return what the admin of a model offers somebody who may do everything."""
    options, request = REGISTERED[model], RequestFactory().get("/")
    request.user = User(is_superuser=True, is_active=True)
    actions = getattr(options, "object_actions", ())
    names = {str(url.name).removeprefix(f"{model.replace('.', '_')}_") for url in options.get_urls() if url.name}
    return {
        "writes": {verb for verb in ("add", "change", "delete") if getattr(options, f"has_{verb}_permission")(request)},
        "actions": {action.name: action.permission for action in actions},
        "bulk": {action.name for action in actions if action.bulk},
        "pages": names - USUAL,
    }


# --- and it holds --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.slow
def test_each_page_and_each_action_is_for_those_who_may(role: str) -> None:
    comes = visitor(role)
    furnish(comes.user or User.objects.create(username="ann"), now=database_now())
    browser, logged = comes.browser(), LogEntry.objects.count()
    answered = {
        (method, address): (getattr(browser, method)(address).status_code, expected)
        for model, written in MODELS.items()
        for method, address, expected in requests(comes, model, written)
    }
    assert {each: told for each, told in answered.items() if told[0] not in told[1]} == {}
    assert LogEntry.objects.count() == logged, "something was done without being confirmed"


@pytest.mark.parametrize("role", ROLES)
def test_each_page_of_no_model_is_for_those_who_may(role: str, settings: Any) -> None:
    comes = visitor(role)
    browser = comes.browser()
    refused = TO_LOGIN if role == ANONYMOUS else REFUSED
    expected = {
        address: {200} if comes.user and comes.may(*needed) else refused
        for address, needed in PAGES.items()
        if address != "/inbox/" or settings.TIDELINE_INBOX_URL
    }
    answered = {address: browser.get(address).status_code for address in expected}
    assert {address: status for address, status in answered.items() if status not in expected[address]} == {}


Request = tuple[str, str, set[int]]  # method, address, the statuses that are right


def requests(comes: Visitor, model: str, written: Written) -> Iterator[Request]:
    """Yield every request that the panel knows for a model, and how it is answered to the visitor."""
    row = REGISTERED[model].model._default_manager.order_by("-pk").first()
    assert row, f"Furnish a row of {model} as well."
    looks = comes.may_look(model)
    yield "get", address_of(model, "changelist"), answer(comes, allowed=looks)
    for view in ("change", "history"):
        yield "get", address_of(model, view, row), answer(comes, allowed=looks)
    yield "post", address_of(model, "change", row), answer_to_a_form(comes, model)
    yield from writing(comes, model, row)
    yield from acting(comes, model, row)
    for page, needed in written.pages.items():
        may = looks and (not needed or comes.may(needed))
        yield "get", address_of(model, page, row if is_of_a_row(model, page) else None), answer(comes, allowed=may)


def writing(comes: Visitor, model: str, row: Model) -> Iterator[Request]:
    """Yield what adds, edits and deletes."""
    there_is = MODELS[model].writes.split()
    for verb, address in (
        ("add", address_of(model, "add")),
        ("change", address_of(model, "edit", row) if "edit" in MODELS[model].pages else ""),
        ("delete", address_of(model, "delete", row)),
    ):
        may = verb in there_is and comes.may(permission_to(verb, model))
        for method in ("get", "post") if address else ():
            yield method, address, answer(comes, allowed=may)


def acting(comes: Visitor, model: str, row: Model) -> Iterator[Request]:
    """Yield what opens the confirmation of each action, and what confirms nothing that was seen."""
    written, looks = MODELS[model], comes.may_look(model)
    for name, needed in written.actions.items():
        expected = answer(comes, allowed=looks and comes.may(needed))
        yield "get", address_of(model, "action", row, name), expected
        yield "post", address_of(model, "action", row, name), expected | ({409} if expected == SHOWN else set())
        if name in written.bulk.split():
            yield "post", address_of(model, "bulk_action", None, name), expected


def answer(comes: Visitor, *, allowed: bool) -> set[int]:
    """Return the statuses that are right; of what is allowed, something may have to be typed or not be possible."""
    if comes.role == ANONYMOUS:
        return TO_LOGIN
    return SHOWN if allowed else REFUSED


def answer_to_a_form(comes: Visitor, model: str) -> set[int]:
    """Return how what is posted to a row's own page is answered; a page that is no form takes nothing."""
    if isinstance(REGISTERED[model], ObjectPageMixin):
        return TO_LOGIN if comes.role == ANONYMOUS else {405}
    may = "change" in MODELS[model].writes.split() and comes.may(permission_to("change", model))
    return answer(comes, allowed=may)


def is_of_a_row(model: str, page: str) -> bool:
    """Tell whether a page has a row in its address."""
    name = f"{model.replace('.', '_')}_{page}"
    return any("<" in str(url.pattern) for url in REGISTERED[model].get_urls() if url.name == name)


def address_of(model: str, view: str, row: Model | None = None, *more: str) -> str:
    """Return the address of a view of a model, or of a row of it."""
    return reverse(f"admin:{model.replace('.', '_')}_{view}", args=[*([row.pk] if row else []), *more])
