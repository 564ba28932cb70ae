"""Who asks: what each request says of that, and a token that is renewed once when the carrier refuses it."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from scheduler.polling.carriers.answers import Answer, NoDocument
from scheduler.polling.carriers.base import CarrierError
from scheduler.polling.carriers.client import Client
from scheduler.polling.carriers.documents import Expression, as_text
from scheduler.polling.carriers.http_json.credentials import HttpJsonCredentials
from scheduler.polling.carriers.http_json.drafts import NOTHING, Draft, token_draft
from scheduler.polling.carriers.http_json.settings import (
    Auth,
    BasicAuth,
    BearerAuth,
    HeaderAuth,
    QueryAuth,
    TokenAuth,
)
from scheduler.polling.carriers.judging import Aim, Judge
from scheduler.polling.carriers.secrecy import Secrets
from scheduler.polling.carriers.tokens import Token, TokenKeeper, TokenStore
from scheduler.polling.states import ErrorClass


@dataclass(frozen=True, slots=True)
class Pass:
    """What a request shows of who asks. Its text shows nothing.

    Attributes:
        on: returns the request with it; it may also sign what is in the request.
        token: the fetched token in it; empty: none is.
    """

    on: Callable[[Draft], Draft] = field(repr=False)
    token: str = field(default="", repr=False)


class Authorization(Protocol):
    """Hands out passes."""

    async def current(self) -> Pass:
        """Return the pass that holds, as far as is known."""

    async def instead_of(self, refused: Pass) -> Pass | None:
        """Return another pass than the one that the carrier refused; None: there is no other."""


class Standing:
    """The same pass with every request."""

    def __init__(self, standing: Pass) -> None:
        self._standing = standing

    async def current(self) -> Pass:
        return self._standing

    async def instead_of(self, refused: Pass) -> Pass | None:
        return None


class ByToken:
    """A pass with a token, which is fetched, here or by another process.

    Args:
        put: returns the request with the token.
        secrets: to which each token is added.
    """

    def __init__(self, keeper: TokenKeeper, put: Callable[[Draft, str], Draft], secrets: Secrets) -> None:
        self._keeper, self._put, self._secrets = keeper, put, secrets
        self._latest = ""

    async def current(self) -> Pass:
        return self._pass(await self._keeper.current())

    async def instead_of(self, refused: Pass) -> Pass | None:
        return self._pass(await self._keeper.instead_of(refused.token))

    def _pass(self, token: str) -> Pass:
        if token != self._latest:
            self._secrets.add_token(token)
            self._latest = token
        return Pass(lambda drafted: self._put(drafted, token), token)


class TokenEndpoint:
    """Where tokens are fetched, as the settings say."""

    def __init__(self, auth: TokenAuth, credentials: HttpJsonCredentials, client: Client, judge: Judge) -> None:
        self._auth, self._credentials, self._client, self._judge = auth, credentials, client, judge
        self._token = Expression(auth.token)
        self._lifetime = Expression(auth.lifetime) if auth.lifetime else None

    async def fetch(self) -> Token:
        """Return a new token.

        Raises:
            CarrierError, Busy: none came.
        """
        return await fetched_token(self._draft(), self._client, self._judge, self._token, self._lifetime)

    def _draft(self) -> Draft:
        drafted = token_draft(self._auth.request, self._credentials.values())
        return drafted.with_more(basic(self._credentials)) if self._auth.request.basic else drafted


async def fetched_token(
    drafted: Draft, client: Client, judge: Judge, token: Expression, lifetime: Expression | None
) -> Token:
    """Send the request for a token, and return what is in the answer.

    Args:
        token, lifetime: where in the answer they stand, the latter in seconds.

    Raises:
        CarrierError: there is none, or the carrier gives none.
        Busy: the gate would take too long to open.
    """
    answer = await client.exchange(drafted.request())
    judge.check(answer, "token", Aim.TOKEN)
    document = document_of(answer, judge.host)
    text = as_text(token(document))
    if not text.isascii() or not text.isprintable() or not text:
        raise CarrierError(ErrorClass.MALFORMED, f"{judge.host} answers without a token at “{token.text}”.")
    return Token(text, _seconds(lifetime(document)) if lifetime else None)


class Line:
    """The way to the carrier for one account: drafts become requests of the account, and answers are judged."""

    def __init__(self, client: Client, judge: Judge, authorization: Authorization) -> None:
        self._client, self._judge, self._authorization = client, judge, authorization

    async def ask(self, drafted: Draft, aim: Aim = Aim.CARD) -> Answer:
        """Return the answer of success; a token that is refused is renewed once, and the request sent once more.

        Raises:
            CarrierError: there is none; the error says what the carrier said.
            Busy: the gate would take too long to open.
        """
        shown = await self._authorization.current()
        try:
            return await self._send(drafted, shown, aim)
        except CarrierError as error:
            if error.error_class not in (ErrorClass.TOKEN_EXPIRED, ErrorClass.AUTH):
                raise
            other = await self._authorization.instead_of(shown)
            if other is None:
                raise
        return await self._send(drafted, other, aim)

    async def _send(self, drafted: Draft, shown: Pass, aim: Aim) -> Answer:
        answer = await self._client.exchange(shown.on(drafted).request())
        self._judge.check(answer, drafted.endpoint, aim)
        return answer


def authorization_of(
    auth: Auth, credentials: HttpJsonCredentials, client: Client, judge: Judge, shared: TokenStore | None = None
) -> Authorization:
    """Return what hands out the account's passes.

    Args:
        client: to the token endpoint, where there is one.
        shared: keeps the token for all processes, where the settings say so.
    """
    key = credentials.key.get_secret_value()
    match auth:
        case TokenAuth():
            endpoint = TokenEndpoint(auth, credentials, client, judge)
            keeper = TokenKeeper(endpoint.fetch, shared if auth.shared else None)
            return ByToken(keeper, partial(_put_token, auth), judge.secrets)
        case BasicAuth():
            return standing(headers=basic(credentials))
        case BearerAuth():
            return standing(headers={"Authorization": f"Bearer {key}"})
        case HeaderAuth():
            return standing(headers={auth.name: auth.prefix + key})
        case QueryAuth():
            return standing(query={auth.name: key})
    return standing()


def standing(headers: Mapping[str, str] = NOTHING, query: Mapping[str, str] = NOTHING) -> Standing:
    """Return what lets every request show the same headers and query."""
    return Standing(Pass(lambda drafted: drafted.with_more(headers, query)))


def basic(credentials: HttpJsonCredentials) -> dict[str, str]:
    """Return the header of basic authorization."""
    pair = f"{credentials.user}:{credentials.password.get_secret_value()}"
    return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def document_of(answer: Answer, host: str) -> Any:
    """Return what an answer of success says.

    Raises:
        CarrierError: it is no JSON.
    """
    try:
        return answer.document
    except NoDocument:
        raise CarrierError(ErrorClass.MALFORMED, f"{host} answered {answer.status} without JSON.") from None


def _put_token(auth: TokenAuth, drafted: Draft, token: str) -> Draft:
    shown = {auth.name: auth.prefix + token}
    return drafted.with_more(shown) if auth.place == "header" else drafted.with_more({}, shown)


def _seconds(value: object) -> float | None:
    try:
        seconds = float(as_text(value))
    except ValueError:
        return None
    return seconds if 0 < seconds < float("inf") else None
