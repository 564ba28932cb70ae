"""Secrets in parameters, wherever a schema may have them."""

from typing import Any

from pydantic import BaseModel, SecretStr

from project.kit.secrets import DOTS
from scheduler.admin.secret_params import masked, unmasked
from tests.scheduler.factories import registered


class Account(BaseModel):
    """Somebody who logs in."""

    user: str
    password: SecretStr


class Everything(BaseModel):
    """Secrets at every place."""

    token: SecretStr | None = None
    headers: dict[str, SecretStr] = {}
    accounts: list[Account] = []
    main: Account | None = None
    plain: dict[str, Any] = {}


VALUES: dict[str, Any] = {
    "token": "s1",
    "headers": {"Authorization": "s2"},
    "accounts": [{"user": "ada", "password": "s3"}],
    "main": {"user": "bob", "password": "s4"},
    "plain": {"password": "not marked"},
}
MASKED: dict[str, Any] = {
    "token": DOTS,
    "headers": {"Authorization": DOTS},
    "accounts": [{"user": "ada", "password": DOTS}],
    "main": {"user": "bob", "password": DOTS},
    "plain": {"password": "not marked"},
}


def work(run: object) -> None:
    """Do nothing."""


def test_each_secret_is_masked_and_comes_back() -> None:
    with registered(work, params=Everything) as job:
        assert masked(job, VALUES) == MASKED
        assert unmasked(job, MASKED, VALUES) == VALUES


def test_a_secret_that_was_typed_anew_is_kept_as_typed() -> None:
    with registered(work, params=Everything) as job:
        typed = MASKED | {"token": "new", "main": None}
        assert unmasked(job, typed, VALUES) == VALUES | {"token": "new", "main": None}


def test_what_is_empty_is_shown_as_empty() -> None:
    with registered(work, params=Everything) as job:
        assert masked(job, {"token": None}) == {"token": None}


def test_a_job_that_is_not_known_shows_no_value() -> None:
    assert masked("gone.job", {"a": 1, "b": {"c": "x"}}) == {"a": DOTS, "b": DOTS}
    assert unmasked("gone.job", {"a": DOTS}, {"a": 1}) == {"a": 1}


def test_a_job_without_a_schema_has_no_secrets() -> None:
    with registered(work) as job:
        assert masked(job, {"password": "x"}) == {"password": "x"}
