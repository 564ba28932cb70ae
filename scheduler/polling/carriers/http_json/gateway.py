"""Speaks to any JSON API, as the settings say."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

import aiohttp

from scheduler.polling.carriers.answers import Answer
from scheduler.polling.carriers.base import Batch, CardRef, CarrierError, Gate, Gateway, Outcome, Reading
from scheduler.polling.carriers.batching import without_spoilers
from scheduler.polling.carriers.client import Client
from scheduler.polling.carriers.http_json.authorizing import Authorization, Line, authorization_of, document_of
from scheduler.polling.carriers.http_json.credentials import HttpJsonCredentials
from scheduler.polling.carriers.http_json.drafts import draft
from scheduler.polling.carriers.http_json.many import Listing, PartsReader
from scheduler.polling.carriers.http_json.numbering import CarrierIds, by_number, numbers_of
from scheduler.polling.carriers.http_json.parts import BatchCall, Call, Check, Fields
from scheduler.polling.carriers.http_json.reading import Reader
from scheduler.polling.carriers.http_json.settings import HttpJsonSettings
from scheduler.polling.carriers.http_json.templates import LOOKED_UP, MONTH
from scheduler.polling.carriers.judging import Aim, Judge
from scheduler.polling.carriers.secrecy import Secrets
from scheduler.polling.carriers.tokens import TokenStore
from scheduler.polling.carriers.wall_clock import now_in
from scheduler.polling.states import CheckType, ErrorClass

Authorize = Callable[[Client, Judge], Authorization]


class HttpJson(Gateway):
    """One account at a JSON API.

    Args:
        shared: keeps a token for all processes, where the settings say so.
        authorize: makes what hands out the account's passes, where the settings cannot say it: for signatures.
        answers: as what answers are read, where they are not only JSON.

    Raises:
        BadAddress: an address in the settings may not be called any more.
    """

    def __init__(
        self,
        settings: HttpJsonSettings,
        credentials: HttpJsonCredentials,
        http: aiohttp.ClientSession,
        gate: Gate,
        shared: TokenStore | None = None,
        authorize: Authorize | None = None,
        answers: type[Answer] = Answer,
    ) -> None:
        self._settings = settings
        client = Client(settings.base_url, http, gate, settings.timeouts, answers)
        self._judge = Judge(settings.errors.codebook(), client.host, Secrets(credentials.values().values()))
        token_client = Client(settings.token_url, http, gate, settings.timeouts)
        authorization = (
            authorize(token_client, self._judge)
            if authorize
            else authorization_of(settings.auth, credentials, token_client, self._judge, shared)
        )
        self._line = Line(client, self._judge, authorization)
        self._ids = CarrierIds(settings.lookup, self._line, client.host) if settings.lookup else None
        self._readers = {check: self._reader(check, call.fields) for check, call in settings.checks.items()}
        self.supported = settings.supported
        self.batches = MappingProxyType(
            {check: self._batch(check, call.batch) for check, call in settings.checks.items() if call.batch}
        )

    async def real_name(self, card: CardRef) -> Reading:
        return await self._read(CheckType.REAL_NAME, card)

    async def usage(self, card: CardRef) -> Reading:
        return await self._read(CheckType.USAGE, card)

    async def card_status(self, card: CardRef) -> Reading:
        return await self._read(CheckType.CARD_STATUS, card)

    async def package(self, card: CardRef) -> Reading:
        return await self._read(CheckType.PACKAGE, card)

    async def stop(self, card: CardRef) -> None:
        await self._change("stop", self._settings.stop, card)

    async def resume(self, card: CardRef) -> None:
        await self._change("resume", self._settings.resume, card)

    # --- one card ----------------------------------------------------------------------------------------------

    async def _read(self, check: CheckType, card: CardRef) -> Reading:
        call = self._settings.checks[check]
        document = document_of(await self._ask(check.value, call, card), self._judge.host)
        if call.among:
            document = Listing(call.among, self._judge.host).part_of(document, getattr(card, call.number))
        return self._readers[check].read(document)

    async def _change(self, endpoint: str, call: Call | None, card: CardRef) -> None:
        if call is None:
            raise CarrierError(ErrorClass.STATE_FORBIDS, f"The account's settings do not say how to {endpoint} a card.")
        try:
            await self._ask(endpoint, call, card)
        except CarrierError as error:
            if error.error_class is not ErrorClass.PENDING:  # that is accepted as well, and said by a code
                raise

    async def _ask(self, endpoint: str, call: Call, card: CardRef) -> Answer:
        if self._ids is None or LOOKED_UP not in call.asked_by:
            return await self._line.ask(draft(endpoint, call, numbers_of(card, call) | self._times()), _aim(call))
        was_kept = self._ids.keeps(card)
        try:
            return await self._ask_by_id(self._ids, endpoint, call, card)
        except CarrierError as error:
            if error.error_class is not ErrorClass.CARD_MISSING:
                raise
            self._ids.forget(card)
            if not was_kept:
                raise
        return await self._ask_by_id(self._ids, endpoint, call, card)  # it may have another number by now

    async def _ask_by_id(self, ids: CarrierIds, endpoint: str, call: Call, card: CardRef) -> Answer:
        numbers = numbers_of(card, call) | self._times() | {LOOKED_UP: await ids.of(card)}
        return await self._line.ask(draft(endpoint, call, numbers), _aim(call))

    # --- many cards --------------------------------------------------------------------------------------------

    def _batch(self, check: CheckType, call: BatchCall) -> Batch:
        reader = self._reader(check, call.fields) if call.fields else self._readers[check]
        parts = PartsReader(check.value, call, reader, self._judge)
        return Batch(call.size, without_spoilers(partial(self._read_many, check, call, parts)))

    async def _read_many(
        self, check: CheckType, call: BatchCall, parts: PartsReader, cards: Sequence[CardRef]
    ) -> Mapping[int, Outcome]:
        numbered, outcomes = by_number(cards, call.number)
        if numbered:
            drafted = draft(check.value, call, {f"{call.number}s": list(numbered), **self._times()}, call.separator)
            answer = await self._line.ask(drafted, Aim.CARDS)
            outcomes |= parts.read(document_of(answer, self._judge.host), numbered)
        return outcomes

    def _times(self) -> dict[str, str]:
        return {MONTH: f"{now_in(self._settings.zone):%Y%m}"}

    # --- its making --------------------------------------------------------------------------------------------

    def _reader(self, check: CheckType, fields: Fields) -> Reader:
        return Reader(check, fields, self._settings.zone, self._judge.host, self._judge.secrets.quoted)


def _aim(call: Call) -> Aim:
    """Return what a call is about: a list that is not there is the address, and not the card."""
    return Aim.CARDS if isinstance(call, Check) and call.among else Aim.CARD
