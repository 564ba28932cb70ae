"""Lists by cursor: complete, without doubles, whatever happens meanwhile; and what is not known is refused."""

import base64
import json
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.http import HttpResponse

from alerts.models import Alert
from tests.alerts.admin.desk import make_alert
from tests.kit.api.caller import Program, chiefs_program, problem_of

pytestmark = pytest.mark.django_db


def page_of(response: HttpResponse) -> dict[str, Any]:
    """Return a page."""
    assert response.status_code == 200, response.content
    page: dict[str, Any] = json.loads(response.content)
    return page


def walk(program: Program, path: str, way: str = "next") -> list[list[int]]:
    """Return the numbers of the rows of each page from here on."""
    pages = []
    while path:
        page = page_of(program.get(path))
        pages.append([row["id"] for row in page["results"]])
        address = urlsplit(page[way] or "")
        path = f"{address.path.removeprefix('/api/')}?{address.query}" if page[way] else ""
    return pages


def test_the_pages_hold_each_row_once_in_order() -> None:
    numbers = [make_alert().pk for _ in range(5)]
    assert walk(chiefs_program(), "alerts/?page_size=2") == [numbers[:2:-1], numbers[2:0:-1], numbers[:1]]
    assert walk(chiefs_program(), "alerts/?page_size=2&ordering=id") == [numbers[:2], numbers[2:4], numbers[4:]]


def test_rows_that_come_meanwhile_neither_double_nor_hide_others() -> None:
    program, numbers = chiefs_program(), [make_alert().pk for _ in range(4)]
    first = page_of(program.get("alerts/?page_size=2"))
    make_alert()
    rest = walk(program, "alerts/?" + urlsplit(first["next"]).query)
    assert [row["id"] for row in first["results"]] + list(chain(*rest)) == numbers[::-1]


def test_a_page_leads_back() -> None:
    program, numbers = chiefs_program(), [make_alert().pk for _ in range(4)]
    first = page_of(program.get("alerts/?page_size=2"))
    second = page_of(program.get("alerts/?" + urlsplit(first["next"]).query))
    assert walk(program, "alerts/?" + urlsplit(second["previous"]).query, "previous")[0] == numbers[:1:-1]


def test_rows_that_are_equal_in_what_orders_them_are_each_shown_once() -> None:
    numbers = [make_alert().pk for _ in range(5)]
    Alert.objects.update(last_at=Alert.objects.get(pk=numbers[0]).last_at)
    assert list(chain(*walk(chiefs_program(), "alerts/?page_size=2&ordering=-last_at"))) == numbers[::-1]


def test_a_page_has_a_largest_size() -> None:
    program = chiefs_program()
    make_alert()
    assert len(page_of(program.get("alerts/?page_size=100000"))["results"]) == 1


@pytest.mark.parametrize("cursor", ["x", "cD14", *(base64.b64encode(text).decode() for text in (b"p=x", b"p=1%00"))])
def test_a_cursor_of_somebodys_own_making_is_refused(cursor: str) -> None:
    make_alert()
    assert "leads nowhere" in problem_of(chiefs_program().get(f"alerts/?cursor={cursor}"), 404)["detail"]


def test_a_parameter_that_is_not_known_is_refused_with_those_that_are() -> None:
    problem = problem_of(chiefs_program().get("alerts/?stat=open"), 400)
    assert problem["errors"][0]["field"] == "stat"
    for name in ("state", "severity", "label", "ordering", "cursor"):
        assert name in problem["detail"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("ordering=title", "ordering"),
        ("ordering=id,last_at", "ordering"),
        ("state=x", "state"),
        ("severity=%00", "severity"),
        ("kind=%00", "kind"),
        ("label=nightly", "label"),
    ],
)
def test_a_filter_that_cannot_be_right_is_refused(query: str, field: str) -> None:
    assert problem_of(chiefs_program().get(f"alerts/?{query}"), 400)["errors"][0]["field"] == field
