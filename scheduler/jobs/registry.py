"""Which jobs there are. Python jobs register themselves with `@job` when their module is imported."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext as _
from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from scheduler.jobs.context import RunContext

JobFunction = Callable[["RunContext"], Any]

BUILT_IN: tuple[str, ...] = ("command", "http", "management", "celery_task")


class UnknownJob(LookupError):
    """No job of that key is registered in this process."""

    def __init__(self, key: str) -> None:
        super().__init__(f"No job “{key}” is registered here. Known: {', '.join(sorted(JOBS))}.")


class BadParams(ValueError):
    """The parameters do not fit the job's schema; the message names each field and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Job:
    """A registered job.

    Attributes:
        params: the pydantic model of its parameters, or None where it takes none.
        resumable: it reads its checkpoint and goes on there; otherwise an interrupted run starts again.
        short: it usually ends within a second, so that one hint may stand for several of its runs.
        timeout_seconds: how long an attempt may take where the schedule does not say.
        holds_outside: tells from a run's progress whether the run holds something elsewhere that only the job can
            end. Such a run, cancelled while it waits, is executed once more to be told.
    """

    key: str
    function: JobFunction
    title: str
    params: type[BaseModel] | None = None
    resumable: bool = True
    short: bool = False
    timeout_seconds: int | None = None
    holds_outside: Callable[[dict[str, Any]], bool] | None = None

    @property
    def label(self) -> str:
        """Its title in the reader's language, where it is known there."""
        return _(self.title)

    def read_params(self, values: dict[str, Any]) -> Any:
        """Return the parameters as the job's model, or as they are where it has none.

        Raises:
            BadParams: they do not fit; nothing of a secret's value is in the message.
        """
        if self.params is None:
            return values
        try:
            return self.params.model_validate(values)
        except ValidationError as error:
            raise BadParams(_sentences(error)) from None

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the parameters."""
        return self.params.model_json_schema() if self.params is not None else {}


JOBS: dict[str, Job] = {}


def job(
    key: str,
    *,
    title: str = "",
    params: type[BaseModel] | None = None,
    resumable: bool = True,
    short: bool = False,
    timeout_seconds: int | None = None,
    holds_outside: Callable[[dict[str, Any]], bool] | None = None,
) -> Callable[[JobFunction], JobFunction]:
    """Register the decorated function as the job `key`.

    Raises:
        ValueError: another function has that key already.
    """

    def register(function: JobFunction) -> JobFunction:
        known = JOBS.get(key)
        if known is not None and _where(known.function) != _where(function):
            raise ValueError(f"Two jobs are called “{key}”: {_where(known.function)} and {_where(function)}.")
        JOBS[key] = Job(key, function, title or key, params, resumable, short, timeout_seconds, holds_outside)
        short_jobs.cache_clear()
        return function

    return register


def get_job(key: str) -> Job:
    """Return the job.

    Raises:
        UnknownJob: none has that key.
    """
    try:
        return JOBS[key]
    except KeyError:
        raise UnknownJob(key) from None


@functools.cache
def short_jobs() -> frozenset[str]:
    """Return the keys of the jobs that said they are short."""
    return frozenset(key for key, job in JOBS.items() if job.short)


def discover() -> None:
    """Import the built-in jobs, each installed app's `jobs` module and those that TIDELINE_JOBS names."""
    for name in BUILT_IN:
        import_module(f"scheduler.jobs.{name}")
    autodiscover_modules("jobs")
    for module in settings.TIDELINE_JOBS:
        import_module(module)


def _sentences(error: ValidationError) -> str:
    return " ".join(
        f"Parameter “{'.'.join(str(part) for part in fault['loc']) or 'params'}”: {fault['msg']}."
        for fault in error.errors(include_input=False, include_url=False)
    )


def _where(function: JobFunction) -> str:
    return f"{function.__module__}.{function.__qualname__}"
