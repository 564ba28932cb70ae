"""The job `celery`: a Celery task that exists already, here or in another application."""

from typing import Any, Self
from urllib.parse import urlsplit

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from kombu.transport import TRANSPORT_ALIASES
from pydantic import Field, SecretStr, field_validator, model_validator

from scheduler.jobs.context import RunContext
from scheduler.jobs.params import Params, refusal
from scheduler.jobs.registry import job

FOR_ANOTHER_APPLICATION = (
    "result_backend", "queue", "exchange", "routing_key", "priority", "expires_seconds", "transport_options",
    "result_backend_options", "timeout_seconds", "terminate",
)  # fmt: skip


class CeleryParams(Params):
    """Which task, what it is given, and where its workers are if they are not here."""

    task: str = Field(title=_("Task"), description=_("Its name, for example shop.tasks.send_invoices."), min_length=1)
    args: list[Any] = Field(default_factory=list, title=_("Arguments"), description=_("A list."))
    kwargs: dict[str, Any] = Field(
        default_factory=dict, title=_("Keyword arguments"), description=_("An object of names and values.")
    )
    broker_url: SecretStr | None = Field(
        None,
        title=_("Broker of another application"),
        description=_("Empty: the task is registered in Tideline's workers and is executed there."),
    )
    result_backend: SecretStr | None = Field(
        None,
        title=_("Result backend of the other application"),
        description=_("Where its results are read. Empty: the task is sent, and how it ends is not known here."),
    )
    queue: str | None = Field(None, title=_("Queue"), description=_("By default “celery”."), min_length=1)
    exchange: str | None = Field(
        None, title=_("Exchange"), description=_("Together with a routing key, instead of a queue."), min_length=1
    )
    routing_key: str | None = Field(
        None, title=_("Routing key"), description=_("Together with an exchange."), min_length=1
    )
    priority: int | None = Field(
        None, title=_("Priority"), description=_("In its queue, as that broker understands it."), ge=0, le=255
    )
    expires_seconds: float | None = Field(
        None,
        title=_("Expires after, in seconds"),
        description=_("A worker that takes it later than that drops it."),
        gt=0,
    )
    transport_options: dict[str, Any] = Field(
        default_factory=dict,
        title=_("Transport options"),
        description=_("As the other application's broker_transport_options, for example a global_keyprefix."),
    )
    result_backend_options: dict[str, Any] = Field(
        default_factory=dict,
        title=_("Result backend options"),
        description=_("As the other application's result_backend_transport_options."),
    )
    timeout_seconds: int = Field(
        86_400,
        title=_("Followed for, in seconds"),
        description=_("What has not ended so long after it was sent is revoked, and the run fails."),
        gt=0,
    )
    terminate: bool = Field(
        False,
        title=_("Terminate on cancel"),
        description=_("Also end the process that executes it; without, a cancel only reaches a task that still waits."),
    )

    @field_validator("broker_url")
    @classmethod
    def _is_a_broker(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and _scheme(url) not in TRANSPORT_ALIASES:
            raise refusal(gettext("It must be a broker's URL, for example redis://user:password@host:6379/0"))
        return url

    @field_validator("result_backend")
    @classmethod
    def _can_be_followed(cls, url: SecretStr | None) -> SecretStr | None:
        if url is None:
            return url
        if _scheme(url) in ("rpc", "amqp"):
            raise refusal(
                gettext("Results of this kind are sent to the asking process alone and cannot be followed from here")
            )
        if not _scheme(url):
            raise refusal(gettext("It must be a result backend's URL, for example redis://user:password@host:6379/1"))
        return url

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        fields = type(self).model_fields
        foreign = [
            name
            for name in FOR_ANOTHER_APPLICATION
            if getattr(self, name) != fields[name].get_default(call_default_factory=True)
        ]
        if self.broker_url is None and foreign:
            raise refusal(
                gettext("%(foreign)s only matters to another application; give its broker_url too")
                % {"foreign": " and ".join(foreign)}
            )
        if (self.exchange is None) != (self.routing_key is None):
            raise refusal(gettext("exchange and routing_key belong together"))
        if self.exchange is not None and self.queue is not None:
            raise refusal(gettext("Give either a queue, or an exchange and a routing_key"))
        return self


def has_sent(progress: dict[str, Any]) -> bool:
    """Whether a task of another application, which a cancel has to revoke, is on its way."""
    return bool((progress.get("celery") or {}).get("task_id"))


@job("celery", title=_("Celery task"), params=CeleryParams, holds_outside=has_sent)
def celery(context: RunContext) -> Any:
    """Execute the task here, or send it to its application and follow it."""
    # Celery takes its time to be imported; a process that only lists jobs does without.
    from scheduler.jobs import celery_local, celery_remote

    if context.params.broker_url is None:
        return celery_local.execute(context)
    return celery_remote.execute(context)


def _scheme(url: SecretStr) -> str:
    """Return the URL's scheme; nothing where it is no URL."""
    try:
        address = urlsplit(url.get_secret_value())
        address.port  # noqa: B018 - it is read for its ValueError
    except ValueError:
        return ""
    return address.scheme.partition("+")[0] if "://" in url.get_secret_value() else ""
