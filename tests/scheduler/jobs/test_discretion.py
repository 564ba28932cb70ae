"""Secrets among a run's parameters do not come back in what is kept of what it said."""

import pytest
from pydantic import BaseModel, SecretStr

from project.kit.secrets import DOTS
from scheduler.identity import ThisWorker
from scheduler.jobs import RunContext
from scheduler.jobs.discretion import Discretion
from tests.scheduler.executions import attempt_of, run_job


class Account(BaseModel):
    """Somebody who logs in."""

    user: str = "operator"
    password: SecretStr = SecretStr("correct horse battery")


class Params(BaseModel):
    """Secrets at every place."""

    headers: dict[str, SecretStr] = {"Authorization": SecretStr("Bearer abcdefgh12345")}
    accounts: list[Account] = [Account()]
    pin: SecretStr = SecretStr("1234")


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("sent Bearer abcdefgh12345 to it", f"sent {DOTS} to it"),
        ("token=abcdefgh12345.", f"token={DOTS}."),
        ("as operator with correct horse battery", f"as operator with {DOTS}"),
        ("in 1234 ms", "in 1234 ms"),
    ],
)
def test_secrets_are_masked_whole_and_by_their_words_but_not_what_is_too_short_to_be_known(
    said: str, kept: str
) -> None:
    assert Discretion(Params())(said) == kept


def test_parameters_without_secrets_mask_nothing() -> None:
    assert Discretion({"a": ["b"]})("a b") == "a b"


@pytest.mark.django_db
def test_what_a_job_says_and_how_it_fails_is_kept_without_its_secrets(worker: ThisWorker) -> None:
    def leak(run: RunContext) -> None:
        secret = run.params.accounts[0].password.get_secret_value()
        run.log(f"logging in with {secret}")
        raise ValueError(f"{secret} was refused")

    attempt = attempt_of(run_job(leak, worker, job={"params": Params}, params={}))
    assert attempt.output == f"logging in with {DOTS}\n"
    assert attempt.error == f"ValueError: {DOTS} was refused"
    assert "battery" not in attempt.traceback
