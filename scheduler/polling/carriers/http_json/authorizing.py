"""Who asks: what each request says of that, and a token that is renewed once when the carrier refuses it."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from scheduler.polling.carriers.answers import Answer, NoDocument
from scheduler.polling.carriers.base import CarrierError
from scheduler.polling.carriers.client import Client
from scheduler.polling.carriers.documents import Expression, as_text
from scheduler.polling.carriers.http_json.credentials import HttpJsonCredentials
from scheduler.polling.carriers.http_json.drafts import Draft, token_draft
from scheduler.polling.carriers.http_json.settings import (
    Auth,
    BasicAuth,
    BearerAuth,
    HeaderAuth,
    QueryAuth,
    TokenAuth,
)
from scheduler.polling.carriers.judging import Aim, Judge
from scheduler.polling.carriers.tokens import Token, TokenKeeper
from scheduler.polling.states import ErrorClass


@dataclass(frozen=True, slots=True)
class Pass:
    """What a request shows of who asks. Its text shows nothing."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)


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


class Fetched:
    """A pass with a token, which is fetched."""

    def __init__(self, auth: TokenAuth, credentials: HttpJsonCredentials, client: Client, judge: Judge) -> None:
        self._auth, self._credentials, self._client, self._judge = auth, credentials, client, judge
        self._token = Expression(auth.token)
        self._lifetime = Expression(auth.lifetime) if auth.lifetime else None
        self._keeper = TokenKeeper(self._fetch)

    async def current(self) -> Pass:
        return self._pass(await self._keeper.current())

    async def instead_of(self, refused: Pass) -> Pass | None:
        (text,) = {**refused.headers, **refused.query}.values()
        return self._pass(await self._keeper.instead_of(text.removeprefix(self._auth.prefix)))

    def _pass(self, token: str) -> Pass:
        shown = {self._auth.name: self._auth.prefix + token}
        return Pass(headers=shown) if self._auth.place == "header" else Pass(query=shown)

    async def _fetch(self) -> Token:
        answer = await self._client.exchange(self._draft().request())
        self._judge.check(answer, "token", Aim.TOKEN)
        return self._read(answer)

    def _draft(self) -> Draft:
        drafted = token_draft(self._auth.request, self._credentials.values())
        return drafted.with_more(basic(self._credentials)) if self._auth.request.basic else drafted

    def _read(self, answer: Answer) -> Token:
        document = document_of(answer, self._judge.host)
        text = as_text(self._token(document))
        if not text.isascii() or not text.isprintable() or not text:
            sentence = f"{self._judge.host} answers without a token at “{self._auth.token}”."
            raise CarrierError(ErrorClass.MALFORMED, sentence)
        self._judge.secrets.add_token(text)
        return Token(text, _seconds(self._lifetime(document)) if self._lifetime else None)


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
        answer = await self._client.exchange(drafted.with_more(shown.headers, shown.query).request())
        self._judge.check(answer, drafted.endpoint, aim)
        return answer


def authorization_of(auth: Auth, credentials: HttpJsonCredentials, client: Client, judge: Judge) -> Authorization:
    """Return what hands out the account's passes.

    Args:
        client: to the token endpoint, where there is one.
    """
    key = credentials.key.get_secret_value()
    match auth:
        case TokenAuth():
            return Fetched(auth, credentials, client, judge)
        case BasicAuth():
            return Standing(Pass(headers=basic(credentials)))
        case BearerAuth():
            return Standing(Pass(headers={"Authorization": f"Bearer {key}"}))
        case HeaderAuth():
            return Standing(Pass(headers={auth.name: auth.prefix + key}))
        case QueryAuth():
            return Standing(Pass(query={auth.name: key}))
    return Standing(Pass())


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


def _seconds(value: object) -> float | None:
    try:
        seconds = float(as_text(value))
    except ValueError:
        return None
    return seconds if 0 < seconds < float("inf") else None
