"""Speaks to any JSON API, as the settings say."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

import aiohttp

from scheduler.polling.carriers.base import Batch, CardRef, CarrierError, Gate, Gateway, Outcome, Reading
from scheduler.polling.carriers.batching import without_spoilers
from scheduler.polling.carriers.client import Client
from scheduler.polling.carriers.http_json.authorizing import Line, authorization_of, document_of
from scheduler.polling.carriers.http_json.credentials import HttpJsonCredentials
from scheduler.polling.carriers.http_json.drafts import draft
from scheduler.polling.carriers.http_json.many import PartsReader
from scheduler.polling.carriers.http_json.parts import BatchCall, Call, Fields
from scheduler.polling.carriers.http_json.reading import Reader
from scheduler.polling.carriers.http_json.settings import HttpJsonSettings
from scheduler.polling.carriers.judging import Aim, Judge
from scheduler.polling.carriers.secrecy import Secrets
from scheduler.polling.states import CheckType, ErrorClass


class HttpJson(Gateway):
    """One account at a JSON API.

    Raises:
        BadAddress: an address in the settings may not be called any more.
    """

    def __init__(
        self, settings: HttpJsonSettings, credentials: HttpJsonCredentials, http: aiohttp.ClientSession, gate: Gate
    ) -> None:
        self._settings = settings
        client = Client(settings.base_url, http, gate, settings.timeouts)
        self._judge = Judge(settings.errors.codebook(), client.host, Secrets(credentials.values().values()))
        token_client = Client(settings.token_url, http, gate, settings.timeouts)
        authorization = authorization_of(settings.auth, credentials, token_client, self._judge)
        self._line = Line(client, self._judge, authorization)
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
        answer = await self._line.ask(draft(check.value, call, _numbers(card, call)))
        return self._readers[check].read(document_of(answer, self._judge.host))

    async def _change(self, endpoint: str, call: Call | None, card: CardRef) -> None:
        if call is None:
            raise CarrierError(ErrorClass.STATE_FORBIDS, f"The account's settings do not say how to {endpoint} a card.")
        try:
            await self._line.ask(draft(endpoint, call, _numbers(card, call)))
        except CarrierError as error:
            if error.error_class is not ErrorClass.PENDING:  # that is accepted as well, and said by a code
                raise

    # --- many cards --------------------------------------------------------------------------------------------

    def _batch(self, check: CheckType, call: BatchCall) -> Batch:
        reader = self._reader(check, call.fields) if call.fields else self._readers[check]
        parts = PartsReader(check.value, call, reader, self._judge)
        return Batch(call.size, without_spoilers(partial(self._read_many, check, call, parts)))

    async def _read_many(
        self, check: CheckType, call: BatchCall, parts: PartsReader, cards: Sequence[CardRef]
    ) -> Mapping[int, Outcome]:
        numbered, outcomes = _by_number(cards, call.number)
        if numbered:
            drafted = draft(check.value, call, {f"{call.number}s": list(numbered)}, call.separator)
            answer = await self._line.ask(drafted, Aim.CARDS)
            outcomes |= parts.read(document_of(answer, self._judge.host), numbered)
        return outcomes

    # --- its making --------------------------------------------------------------------------------------------

    def _reader(self, check: CheckType, fields: Fields) -> Reader:
        return Reader(check, fields, self._settings.zone, self._judge.host, self._judge.secrets.quoted)


def _numbers(card: CardRef, call: Call) -> dict[str, str | list[str]]:
    """Return the card's numbers by which the call asks.

    Raises:
        CarrierError: the card has not all of them.
    """
    for name in call.asked_by:
        if not getattr(card, name):
            raise _without_number(name)
    return {"iccid": card.iccid, "msisdn": card.msisdn, "imsi": card.imsi}


def _by_number(cards: Sequence[CardRef], name: str) -> tuple[dict[str, list[CardRef]], dict[int, Outcome]]:
    """Return the cards by a number that they have, and the outcomes of those that have none."""
    numbered: dict[str, list[CardRef]] = {}
    outcomes: dict[int, Outcome] = {}
    for card in cards:
        if number := getattr(card, name):
            numbered.setdefault(number, []).append(card)
        else:
            outcomes[card.id] = _without_number(name)
    return numbered, outcomes


def _without_number(name: str) -> CarrierError:
    sentence = f"The card has no {name.upper()}, by which this carrier is asked. Add it to the card."
    return CarrierError(ErrorClass.CARD_MISSING, sentence)
