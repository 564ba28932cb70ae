"""Which jobs there are, and what their parameters may be."""

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel, Field, SecretStr

from scheduler.jobs import RunContext, registry
from scheduler.jobs.registry import JOBS, BadParams, UnknownJob, discover, get_job, job, short_jobs


@pytest.fixture(autouse=True)
def own_jobs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave the registry as it was."""
    before = dict(JOBS)
    yield
    JOBS.clear()
    JOBS.update(before)
    short_jobs.cache_clear()


class PageParams(BaseModel):
    """Parameters of a job of these tests."""

    pages: int = Field(gt=0)
    token: SecretStr = SecretStr("")
    names: list[str] = []


def test_a_decorated_function_is_a_job_and_stays_the_function() -> None:
    @job("test.snapshot", title="Snapshot", params=PageParams, short=True, timeout_seconds=60, resumable=False)
    def snapshot(run: RunContext) -> RunContext:
        return run

    found = get_job("test.snapshot")
    assert snapshot.__name__ == "snapshot"
    assert (found.key, found.function, found.title, found.params) == ("test.snapshot", snapshot, "Snapshot", PageParams)
    assert (found.short, found.timeout_seconds, found.resumable) == (True, 60, False)


def test_a_job_needs_nothing_but_its_key() -> None:
    job("test.plain")(lambda run: None)
    found = get_job("test.plain")
    assert (found.title, found.params, found.resumable, found.short, found.timeout_seconds) == (
        "test.plain",
        None,
        True,
        False,
        None,
    )


def test_a_key_that_nobody_has_is_answered_with_those_that_there_are() -> None:
    job("test.here")(lambda run: None)
    with pytest.raises(UnknownJob, match=r"^No job “test\.gone” is registered here\. Known: .*test\.here"):
        get_job("test.gone")


def _function(module: str, name: str) -> Any:
    def function(run: object) -> None:
        """Do nothing."""

    function.__module__, function.__qualname__ = module, name
    return function


@pytest.mark.parametrize(("module", "name"), [("shop.jobs", "other"), ("bar.jobs", "snapshot")])
def test_two_functions_under_one_key_are_refused_and_both_are_named(module: str, name: str) -> None:
    job("test.twice")(_function("shop.jobs", "snapshot"))
    with pytest.raises(ValueError, match=rf"“test\.twice”: shop\.jobs\.snapshot and {module}\.{name}\.$"):
        job("test.twice")(_function(module, name))


def test_a_module_that_is_loaded_again_replaces_its_own_jobs() -> None:
    first, again = _function("shop.jobs", "snapshot"), _function("shop.jobs", "snapshot")
    job("test.twice")(first)
    job("test.twice")(again)
    assert get_job("test.twice").function is again


def test_short_jobs_are_known_as_soon_as_they_are_registered() -> None:
    assert "test.short" not in short_jobs()
    job("test.short", short=True)(lambda run: None)
    job("test.long")(lambda run: None)
    assert "test.short" in short_jobs()
    assert "test.long" not in short_jobs()


# --- parameters ---------------------------------------------------------------------------------------------------


def test_parameters_are_read_into_the_model_and_as_they_are_where_there_is_none() -> None:
    job("test.model", params=PageParams)(lambda run: None)
    job("test.plain")(lambda run: None)
    assert get_job("test.model").read_params({"pages": "3"}) == PageParams(pages=3)
    assert get_job("test.plain").read_params({"anything": [1]}) == {"anything": [1]}


@pytest.mark.parametrize(
    ("values", "sentences"),
    [
        ({}, "Parameter “pages”: Field required."),
        ({"pages": 0}, "Parameter “pages”: Input should be greater than 0."),
        (
            {"pages": "x", "names": ["a", 1]},
            "Parameter “pages”: Input should be a valid integer, unable to parse string as an integer."
            " Parameter “names.1”: Input should be a valid string.",
        ),
        ([], "Parameter “params”: Input should be a valid dictionary or instance of PageParams."),
    ],
)
def test_parameters_that_do_not_fit_are_named_with_what_is_wrong(values: Any, sentences: str) -> None:
    job("test.model", params=PageParams)(lambda run: None)
    with pytest.raises(BadParams) as refusal:
        get_job("test.model").read_params(values)
    assert str(refusal.value) == sentences


def test_the_value_of_a_secret_is_in_no_message() -> None:
    job("test.model", params=PageParams)(lambda run: None)
    with pytest.raises(BadParams) as refusal:
        get_job("test.model").read_params({"pages": 1, "token": ["hush-hush"]})
    assert "token" in str(refusal.value)
    assert "hush" not in str(refusal.value)
    assert refusal.value.__cause__ is None


def test_the_schema_is_that_of_the_model() -> None:
    job("test.model", params=PageParams)(lambda run: None)
    job("test.plain")(lambda run: None)
    assert get_job("test.model").schema()["properties"]["pages"]["exclusiveMinimum"] == 0
    assert get_job("test.plain").schema() == {}


# --- discovery ----------------------------------------------------------------------------------------------------


def test_the_built_in_jobs_are_there() -> None:
    assert {"command", "http", "management", "celery"} <= set(JOBS)


def test_the_modules_that_the_settings_name_are_loaded(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.TIDELINE_JOBS = ["tests.no_such_module"]
    with pytest.raises(ModuleNotFoundError, match=r"tests\.no_such_module"):
        discover()
    module = ModuleType("shop_jobs")
    monkeypatch.setitem(sys.modules, "shop_jobs", module)
    settings.TIDELINE_JOBS = ["shop_jobs"]
    discover()
    assert registry.BUILT_IN
