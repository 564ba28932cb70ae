"""Each request has an id that the answer and the log name."""

import logging
import re

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from structlog.contextvars import get_contextvars

from project.request_ids import RequestIds


def answered(**headers: str) -> str:
    return Client().get("/healthz", headers=headers)["X-Request-ID"]


def test_the_id_that_the_proxy_gave_comes_back() -> None:
    assert answered(x_request_id="a1.B2_c3-d4") == "a1.B2_c3-d4"


def test_a_request_without_one_gets_a_new_one_each_time() -> None:
    ids = {answered() for _ in range(3)}
    assert len(ids) == 3
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in ids)


@pytest.mark.parametrize("nonsense", ["", "a b", "x" * 65, "a\tb", "a=1", "<script>", "é"])
def test_what_is_no_id_is_replaced(nonsense: str) -> None:
    assert re.fullmatch("[0-9a-f]{32}", answered(x_request_id=nonsense))


def test_the_id_is_bound_for_the_log_while_the_request_is_answered_and_no_longer() -> None:
    seen: list[object] = []

    def answer(request: HttpRequest) -> HttpResponse:
        seen.append(get_contextvars()["request_id"])
        return HttpResponse()

    RequestIds(answer)(RequestFactory().get("/", headers={"X-Request-ID": "abc"}))
    assert seen == ["abc"]
    assert "request_id" not in get_contextvars()


@pytest.mark.django_db
def test_what_is_refused_has_one_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        response = Client().get("/api/nothing/", headers={"X-Request-ID": "abc"})
    assert (response.status_code, response["X-Request-ID"]) == (404, "abc")
