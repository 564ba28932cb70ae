"""The API as a whole: it describes itself, to those who are known, and serves its page without calling elsewhere."""

import re
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema

from tests.kit.api.caller import Program, chief, chiefs_program, problem_of

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """The schema, as it was made without a warning."""
    GENERATOR_STATS.reset()
    made: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    assert not GENERATOR_STATS, "it was made with warnings"
    return made


def test_the_schema_is_a_valid_one_of_openapi_3_1(schema: dict[str, Any]) -> None:
    assert schema["openapi"] == "3.1.0"
    validate_schema(schema)


def test_each_operation_says_what_it_needs_and_how_it_refuses(schema: dict[str, Any]) -> None:
    operations = [operation for path in schema["paths"].values() for operation in path.values()]
    assert len(operations) >= 18
    for operation in operations:
        assert "Needs `" in operation["description"], operation["operationId"]
        assert list(operation["responses"]["default"]["content"]) == ["application/problem+json"]


HEADERS = {"post": ["Idempotency-Key"], "patch": ["If-Match"], "put": ["If-Match"], "get": [], "delete": []}
WITHOUT_HEADERS = {
    "/api/api-tokens/",  # a kept answer would keep the token
    "/api/polling-failure-alerts/{id}/status/",  # alerts have no version, and the same twice is one
}


def test_posts_take_keys_and_changes_take_versions(schema: dict[str, Any]) -> None:
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            headers = [each["name"] for each in operation.get("parameters", []) if each["in"] == "header"]
            assert headers == ([] if path in WITHOUT_HEADERS else HEADERS[method]), (method, path)


def test_an_action_is_described_by_the_form_of_the_panel(schema: dict[str, Any]) -> None:
    resolve = schema["paths"]["/api/alerts/{id}/resolve/"]["post"]
    assert resolve["summary"] == "Resolve"
    body = resolve["requestBody"]["content"]["application/json"]["schema"]
    assert body["required"] == ["reason"]


def test_secrets_are_texts_to_write(schema: dict[str, Any]) -> None:
    channel = schema["components"]["schemas"]["Channel"]
    assert channel["properties"]["address"]["type"] == "string"
    assert {"name", "address"} <= set(channel["required"])


def test_the_schema_is_told_to_those_who_are_known() -> None:
    assert chiefs_program().get("schema/").status_code == 200
    problem_of(Program().get("schema/"), 401)


def test_the_page_of_the_api_is_for_the_staff_and_calls_nowhere_else() -> None:
    client = Client()
    assert client.get("/api/")["Location"].startswith("/admin/login/")
    client.force_login(chief())
    page = client.get("/api/").content.decode()
    scripts = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert len(scripts) > 3
    (own,) = [address for address in scripts if not address.startswith("/static/")]
    assert client.get(own)["Content-Type"] == "application/javascript"
    assert "<script>" not in page
    for address in set(scripts) - {own}:
        assert finders.find(address.removeprefix("/static/")), address


@pytest.mark.parametrize("method", ["get", "post", "patch", "put", "delete", "options"])
@pytest.mark.parametrize("path", ["nothing", "nothing/", "alerts"])
def test_where_nothing_is_any_method_is_told_so(method: str, path: str) -> None:
    problem_of(chiefs_program().send(method, path), 404)
