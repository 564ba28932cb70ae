"""What a gateway is: it asks a carrier about cards, and changes them, in words common to all carriers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Protocol
from zoneinfo import ZoneInfo

import aiohttp
from django.utils.translation import gettext_noop
from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from alerts.masking import masked
from project.kit.wall_clocks import zone_names
from quotas.ratelimit import Window
from scheduler.polling.carriers.tokens import TokenStore
from scheduler.polling.states import CheckType, ErrorClass

LONGEST_SENTENCE = 500


@dataclass(frozen=True, slots=True)
class CardRef:
    """A card, by all the numbers under which a carrier may know it; those that it has not are empty."""

    id: int
    iccid: str
    msisdn: str = ""
    imsi: str = ""

    @property
    def iccid19(self) -> str:
        """The ICCID without the check digit of one of 20: so some carriers know it."""
        return self.iccid[:19]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a carrier says of a card.

    Attributes:
        value: as JSON, in our words: a state, a package's name, whole bytes.
        unit: "B" for bytes; empty where the value has none.
        as_of: for when the carrier says so, UTC; None: it does not tell.
        columns: those of the card's row that it determines: state, real_name_state, package, used_bytes,
            allowance_bytes.
    """

    value: Any
    unit: str = ""
    as_of: datetime | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)


class CarrierError(Exception):
    """The carrier did not answer what was asked, or did not do it.

    Attributes:
        error_class: what that means for the card or the account.
        sentence: why, for people; what looks like a secret is masked, the host is kept.
        code: the carrier's own, or empty.
        retry_after: seconds that the carrier asks to wait; None: it does not say.
        unsent: it is sure that nothing went out: no connection was made.
    """

    def __init__(
        self,
        error_class: ErrorClass,
        sentence: str,
        code: str = "",
        retry_after: float | None = None,
        *,
        unsent: bool = False,
    ) -> None:
        self.error_class = error_class
        self.sentence = masked(sentence)[:LONGEST_SENTENCE]
        self.code = code
        self.retry_after = retry_after
        self.unsent = unsent
        super().__init__(self.sentence)


class Busy(Exception):
    """The account's limiter would make us wait too long. Nothing was asked, and nothing failed.

    Attributes:
        seconds: after how long a call could be made.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"The account's limit is reached. It can be asked in {seconds:.1f} s.")
        self.seconds = seconds


class Gate(Protocol):
    """What stands around every single HTTP call: `async with gate(): ...`.

    Entering books the limiter's slot, sleeps until it comes, and takes one of the account's places for calls at one
    time; leaving gives the place back. So nobody enters it twice at once: a token is fetched before, not inside.
    """

    def __call__(self) -> AbstractAsyncContextManager[None]:
        """Return what is entered for one call; entering raises Busy where the wait would be too long."""


Outcome = Reading | CarrierError | Busy


@dataclass(frozen=True, slots=True)
class Batch:
    """Asks for many cards at once.

    Attributes:
        size: how many cards at most.
        ask: returns the outcome of each card by its id; none is left out. It raises CarrierError or Busy where
            nothing was learned of any card. A card that makes the carrier refuse them all is found, and the others
            are asked without it.
    """

    size: int
    ask: Callable[[Sequence[CardRef]], Awaitable[Mapping[int, Outcome]]]


class Gateway:
    """Speaks to one account of a carrier, from one event loop. Each kind of gateway writes those functions that its
    carrier has, and names the checks among them in `supported`.

    Every function raises CarrierError where the carrier does not answer what was asked, and Busy where the gate would
    take too long to open.
    """

    supported: frozenset[CheckType] = frozenset()
    # What can be asked for many cards at once.
    batches: Mapping[CheckType, Batch] = MappingProxyType({})

    async def ask(self, check: CheckType, card: CardRef) -> Reading:
        """Return what the carrier says of the card; the check is one of those supported."""
        functions = {
            CheckType.REAL_NAME: self.real_name,
            CheckType.USAGE: self.usage,
            CheckType.CARD_STATUS: self.card_status,
            CheckType.PACKAGE: self.package,
        }
        return await functions[check](card)

    async def real_name(self, card: CardRef) -> Reading:
        """Return whether the card's user has shown who he is."""
        raise NotImplementedError

    async def usage(self, card: CardRef) -> Reading:
        """Return how many bytes the card used in this billing cycle."""
        raise NotImplementedError

    async def card_status(self, card: CardRef) -> Reading:
        """Return the card's state."""
        raise NotImplementedError

    async def package(self, card: CardRef) -> Reading:
        """Return which package the card has."""
        raise NotImplementedError

    async def stop(self, card: CardRef) -> None:
        """Ask the carrier to stop the card. That it returns means accepted, not done."""
        raise NotImplementedError

    async def resume(self, card: CardRef) -> None:
        """Ask the carrier to resume the card. That it returns means accepted, not done."""
        raise NotImplementedError


class AccountSettings(BaseModel):
    """Settings that the accounts of every gateway have; a gateway adds its own. No secret is among them."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    timezone: str = Field(
        "UTC",
        title="Time zone",
        description=gettext_noop("Of the billing cycle, and of times without a zone; such as Asia/Shanghai."),
    )

    @field_validator("timezone")
    @classmethod
    def _is_a_zone(cls, name: str) -> str:
        if name not in zone_names():
            raise refusal("There is no such zone: write a name such as Asia/Shanghai or UTC")
        return name

    @property
    def zone(self) -> ZoneInfo:
        """The zone itself."""
        return ZoneInfo(self.timezone)

    @property
    def supported(self) -> frozenset[CheckType]:
        """Which checks the account's gateway can make; all of them unless the gateway's settings say otherwise."""
        return frozenset(CheckType)


class Credentials(BaseModel):
    """As whom the carrier is asked; a gateway adds its own fields, each secret one a SecretStr."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


def _nothing(settings: AccountSettings, credentials: Credentials) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class GatewayKind:
    """A way to speak to a carrier.

    Attributes:
        name: as the account's row keeps it.
        label: as people call it.
        settings, credentials: the models of what an account keeps for it; their JSON schemas make the forms.
        make: makes the gateway of one account, once a process and version of the account, of settings, credentials,
            connections, gate, and what keeps a token for all processes (None: nothing does); it raises BadAddress
            where an address in the settings may not be called any more.
        windows: how many calls an account usually bears.
        concurrency: how many calls at one time it usually bears; None: as many as there are.
        lacking: tells of settings and credentials which fields of the latter are missing for the former, with a
            sentence for each.
    """

    name: str
    label: str
    settings: type[AccountSettings]
    credentials: type[Credentials]
    make: Callable[[Any, Any, aiohttp.ClientSession, Gate, TokenStore | None], Gateway]
    windows: tuple[Window, ...] = ()
    concurrency: int | None = None
    lacking: Callable[[Any, Any], Mapping[str, str]] = _nothing


def refusal(sentence: str) -> PydanticCustomError:
    """Return what a validator of settings raises: the sentence as it is, without its full stop."""
    return PydanticCustomError("refused", "{sentence}", {"sentence": sentence})
