"""Carriers whose requests are signed, or carry what no setting can say."""

from collections.abc import Callable
from typing import Any

import aiohttp

from scheduler.polling.carriers.answers import Answer
from scheduler.polling.carriers.base import Gate
from scheduler.polling.carriers.client import Client
from scheduler.polling.carriers.http_json.authorizing import Authorization
from scheduler.polling.carriers.http_json.gateway import HttpJson
from scheduler.polling.carriers.http_json.presets import PresetCredentials, PresetSettings
from scheduler.polling.carriers.judging import Judge
from scheduler.polling.carriers.tokens import TokenStore

# Of settings, credentials, what fetches tokens, what judges their answers, and what keeps them for all processes.
Authorizing = Callable[[Any, Any, Client, Judge, TokenStore | None], Authorization]


def signed(authorizing: Authorizing, answers: type[Answer] = Answer) -> Callable[..., HttpJson]:
    """Return what the kind of such a carrier makes its gateways with.

    Args:
        authorizing: returns what hands out an account's passes, which sign the requests.
        answers: as what answers are read.
    """

    def make(
        settings: PresetSettings,
        credentials: PresetCredentials,
        http: aiohttp.ClientSession,
        gate: Gate,
        shared: TokenStore | None = None,
    ) -> HttpJson:
        return HttpJson(
            settings.as_http_json(),
            credentials.as_http_json(),
            http,
            gate,
            authorize=lambda client, judge: authorizing(settings, credentials, client, judge, shared),
            answers=answers,
        )

    return make
