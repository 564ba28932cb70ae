"""What a line of the log holds: the ids of what it is about, one line a record, and no secret."""

import json
import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from gunicorn.config import Config
from pytest_django import Settings
from structlog.contextvars import bound_contextvars

from project import logs
from project.celery import app
from project.gunicorn_log import GunicornLog
from project.kit.secrets import DOTS

PASSWORD = "pass/word of redis"


def written(text: str, *args: Any, form: str = "text", **options: Any) -> str:
    """Return what a warning becomes."""
    record = logging.getLogger("shop.orders").makeRecord(
        "shop.orders", logging.WARNING, __file__, 1, text, args, options.pop("exc_info", None), **options
    )
    return logs.formatter(form).format(record)


def raised() -> Any:
    try:
        raise ValueError("token=abcdefgh12345678 at https://user:secret@carrier.example/path/to/it")
    except ValueError as error:
        return (type(error), error, error.__traceback__)


@pytest.fixture
def secrets_of_the_settings(settings: Settings) -> Iterator[None]:
    settings.REDIS_URL = f"redis://:{quote(PASSWORD, safe='')}@127.0.0.1:6379/0"
    settings.TIDELINE_METRICS_TOKEN = "of the collector"
    settings.SECRET_KEY_FALLBACKS = ["a former key"]
    logs.secrets_of_the_settings.cache_clear()
    yield
    logs.secrets_of_the_settings.cache_clear()


def test_a_line_for_people_says_when_how_bad_who_what_and_about_what() -> None:
    with bound_contextvars(run=12, attempt=3):
        line = written("the lease of %s is lost", "a run")
    when, rest = line.split(" ", 1)
    assert when.endswith("Z")
    what, *ids = rest.split("  ")
    assert ids == []
    assert what.startswith("WARNING shop.orders: the lease of a run is lost ")
    assert set(what.split()[-2:]) == {"run=12", "attempt=3"}


def test_a_line_for_programs_is_one_json_object() -> None:
    with bound_contextvars(card=7):
        line = json.loads(written("it failed", form="json", exc_info=raised()))
    assert (line["level"], line["logger"], line["message"], line["card"]) == ("warning", "shop.orders", "it failed", 7)
    assert "ValueError" in line["exception"]


def test_what_is_not_bound_any_more_is_not_said() -> None:
    with bound_contextvars(run=12):
        pass
    assert "run=" not in written("nothing of runs")


def test_nobody_writes_lines_of_their_own_by_a_line_break() -> None:
    line = written("asked for %s", "x\n2026-11-30T00:00:00Z ERROR project: all is lost\u2028\x1b[31m")
    assert line.splitlines() == [line]
    assert "x\\n2026" in line
    assert "\x1b" not in line
    assert len(written("asked for %s", "x\ny", form="json").splitlines()) == 1


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_looks_like_a_secret_is_masked_in_the_text_and_in_the_traceback(form: str) -> None:
    line = written("password=hunter2hunter2 for %s", "https://u:pw@host.example/hook/key", form=form, exc_info=raised())
    for secret in ("hunter2", "u:pw", "hook/key", "abcdefgh12345678", "user:secret", "path/to"):
        assert secret not in line
    assert "host.example" in line
    assert DOTS in line


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_secrets_of_the_settings_are_masked_whatever_stands_around_them(
    secrets_of_the_settings: None, form: str
) -> None:
    with bound_contextvars(subject=f"<{PASSWORD}>"):
        line = written("odd: %s, %s and %s", quote(PASSWORD, safe=""), "of the collector", "a former key", form=form)
    for secret in (PASSWORD, quote(PASSWORD, safe=""), "of the collector", "a former key"):
        assert secret not in line


def test_short_passwords_of_the_settings_do_not_eat_every_other_word(settings: Settings) -> None:
    settings.EMAIL_HOST_PASSWORD = "a"
    logs.secrets_of_the_settings.cache_clear()
    assert "a plain sentence" in written("a plain sentence")


def test_the_lines_of_gunicorn_look_like_ours() -> None:
    gunicorn = GunicornLog(Config())
    (handler,) = gunicorn.error_log.handlers
    try:
        record = gunicorn.error_log.makeRecord("gunicorn.error", logging.INFO, "", 1, "Booting: %s", (5,), None)
        assert handler.format(record).endswith("Z INFO gunicorn.error: Booting: 5")
    finally:
        gunicorn.error_log.removeHandler(handler)


def test_a_task_is_named_in_what_is_logged_during_it_and_a_task_within_it_names_itself() -> None:
    said: list[str] = []

    @app.task(name="tests.inner")
    def inner() -> None:
        said.append(written("inner"))

    @app.task(name="tests.outer")
    def outer() -> None:
        inner.apply(task_id="id of the inner")
        said.append(written("outer"))

    try:
        outer.apply(task_id="id of the outer")
    finally:
        for name in ("tests.inner", "tests.outer"):
            app.tasks.pop(name)
    assert "task=tests.inner" in said[0]
    assert "task_id=id of the inner" in said[0]
    assert "task=tests.outer" in said[1]
    assert "task_id=id of the outer" in said[1]
    assert "task" not in written("afterwards")
