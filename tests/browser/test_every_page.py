"""Every page of the control panel, as it is on a desk and on a phone, in light and in dark."""

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from django.db.models import Model
from django.urls import Resolver404, resolve, reverse

from project.kit.clock import database_now
from tests.browser.furnishing import furnish, rows_of_each_kind
from tests.browser.inspecting import Inspection
from tests.browser.person import Person
from tests.browser.site import make_chief

LINKS = "links => links.map(link => new URL(link.getAttribute('href'), location).href)"  # those in pictures as well
ALIKE = ("_history", "_delete")
# Leave the panel, or are no pages.
ELSEWHERE = {"admin:logout", "admin:jsi18n", "admin:app_list"}


@pytest.mark.timeout(900)  # some two hundred pages
def test_every_page_fits_every_window_and_can_be_read_in_light_and_in_dark(visit: Callable[..., Person]) -> None:
    chief = make_chief()
    furnish(chief, now=database_now())
    ann = visit().is_logged_in(chief)

    inspection = Inspection(ann)
    known: set[str] = set()
    for address in pages(ann):
        if inspection.opens(address):
            inspection.fits()
            if (kind := resolve(urlsplit(address).path).url_name) not in known:
                inspection.is_for_everybody()
                ann.photographs(kind)
                known.add(kind)

    assert not inspection.findings, "\n".join(inspection.findings)


def pages(ann: Person) -> Iterator[str]:
    """Yield the addresses of home, of the rows, and of where their links lead: one for each list, form and action."""
    wanted = [reverse("admin:index"), *map(page_of, rows_of_each_kind())]
    seen = set()
    for address in wanted:
        yield address
        for link in ann.page.eval_on_selector_all("a[href]", LINKS):
            if (kind := kind_of(link)) and kind not in seen:
                seen.add(kind)
                wanted.append(link)


def page_of(row: Model) -> str:
    """Return the address of a row's page."""
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])


def kind_of(address: str) -> str:
    """Return by what pages are told apart; nothing of what is no page of the panel that is still to be looked at."""
    try:
        match = resolve(urlsplit(address).path)
    except Resolver404:
        return ""
    if match.namespaces != ["admin"] or match.view_name in ELSEWHERE or match.view_name.endswith("_change"):
        return ""
    alike = next(filter(match.view_name.endswith, ALIKE), None)  # of all models
    return alike or f"{match.view_name} {match.kwargs.get('action_name', '')}"
