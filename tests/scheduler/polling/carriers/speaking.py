"""Gateways of real carriers, opened for tests at the simulated carrier that speaks their dialects, or at scripted
answers."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import pytest

from scheduler.polling.carriers.base import CarrierError, Gateway
from scheduler.polling.carriers.simulator import AccountPlan, RunningCarrier
from scheduler.polling.states import ErrorClass
from tests.scheduler.polling.carriers.dialects.speech import CARD, Speech
from tests.scheduler.polling.carriers.gateways import asked
from tests.scheduler.polling.carriers.scripted import Asked, ScriptedCarrier, reply

Outcome = TypeVar("Outcome")
Ask = Callable[[Gateway], Awaitable[Outcome]]

# As whom the scripted carrier is asked.
WHO = AccountPlan("operator")


def asked_in(
    speech: Speech, carrier: RunningCarrier, ask: Ask[Outcome], account: str = "main", gate: Any = None
) -> Outcome:
    """Return what `ask` brings from an account of the simulated carrier."""
    settings = {"base_url": f"{carrier.url}/{account}", **speech.settings}
    return asked(settings, speech.credentials(carrier.plan(account)), ask, gate, speech.kind)


def asked_of_script(speech: Speech, scripted: ScriptedCarrier, ask: Ask[Outcome], **settings: Any) -> Outcome:
    """Return what `ask` brings from the scripted carrier."""
    said = {"base_url": scripted.url, **speech.settings, **settings}
    return asked(said, speech.credentials(WHO), ask, kind=speech.kind)


def call(endpoint: str) -> Ask[Any]:
    """Return what calls the endpoint for the scripted card; the token and the lookup by what needs them."""
    function = {"token": "usage", "lookup": "stop"}.get(endpoint, endpoint)
    return lambda gateway: getattr(gateway, function)(CARD)


def answered(
    speech: Speech, scripted: ScriptedCarrier, endpoint: str, document: Any, status: int = 200, **settings: Any
) -> Any:
    """Return what the gateway makes of an answer of the endpoint."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    scripted.answer = speech.script(endpoint, lambda asked: reply(body, status))
    return asked_of_script(speech, scripted, call(endpoint), **settings)


def refused(
    speech: Speech,
    scripted: ScriptedCarrier,
    endpoint: str,
    status: int,
    headers: Mapping[str, str],
    document: Any,
) -> CarrierError:
    """Return the error that the gateway makes of an answer of the endpoint."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    scripted.answer = speech.script(endpoint, lambda asked: reply(body, status, **headers))
    with pytest.raises(CarrierError) as caught:
        asked_of_script(speech, scripted, call(endpoint))
    return caught.value


def class_of(outcome: Any) -> ErrorClass | None:
    """Return the class of an outcome that is an error."""
    return outcome.error_class if isinstance(outcome, CarrierError) else None


def sent(scripted: ScriptedCarrier) -> list[tuple[str, bytes]]:
    """Return the first lines and the bodies of all requests."""
    return [(each.line.removesuffix(" HTTP/1.1"), each.body) for each in scripted.asked]


def everything(asked: Asked) -> bytes:
    """Return all that a request held, as a carrier with its debugging on shows it."""
    return f"{asked.line} {asked.headers} {asked.body.decode()}".encode()
