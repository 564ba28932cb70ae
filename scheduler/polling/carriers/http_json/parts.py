"""The parts of the settings that stand for themselves: calls, and where in an answer what stands."""

from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self
from urllib.parse import quote

from django.utils.translation import gettext_noop
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from quotas.provider.probes import HEADER_NAME
from scheduler.polling.carriers.base import refusal
from scheduler.polling.carriers.documents import BadExpression, Expression
from scheduler.polling.carriers.http_json.templates import (
    LOOKED_UP,
    MONTH,
    OF_A_CARD,
    OF_AN_ACCOUNT,
    OF_MANY_CARDS,
    places_in,
)
from scheduler.polling.carriers.units import is_unit
from scheduler.polling.states import CardState, RealName

# What of a path is sent as it is written.
PLAIN = "/%:@!$&'()*+,;=~{}"
SET_BY_ITSELF = ("content-length", "transfer-encoding", "connection", "host")


def _is_expression(text: str) -> str:
    try:
        Expression(text)
    except BadExpression as error:
        raise refusal(str(error)) from None
    return text


def _is_header_name(name: str) -> str:
    if not HEADER_NAME.fullmatch(name) or name.lower() in SET_BY_ITSELF:
        raise refusal(f"“{name}” cannot be the name of a header that is given here")
    return name


def _is_header_value(value: str) -> str:
    if not (value.isascii() and value.isprintable()):
        raise refusal("The value of a header must be printable ASCII on one line")
    return value


JmesPath = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_is_expression)]
HeaderName = Annotated[str, AfterValidator(_is_header_name)]
HeaderValue = Annotated[str, AfterValidator(_is_header_value)]


class Part(BaseModel):
    """A part of the settings: nothing in it that it does not name."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Call(Part):
    """What is sent for one card. {iccid}, {iccid19} (its first 19 digits), {msisdn} and {imsi} are replaced
    everywhere, {carrier_id}, which is looked up, and {month}, the present one, such as 202611.
    """

    places: ClassVar[tuple[str, ...]] = (*OF_A_CARD, LOOKED_UP, MONTH)

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = Field(default="GET", title="Method")
    path: str = Field(
        title="Path", description=gettext_noop("Behind the base address; it begins with /."), max_length=1000
    )
    query: dict[str, str] = Field(
        default_factory=dict, title="Query", description=gettext_noop("Names and values behind the ?.")
    )
    headers: dict[HeaderName, HeaderValue] = Field(
        default_factory=dict, title="Headers", description=gettext_noop("No secrets.")
    )
    body: JsonValue = Field(
        default=None, title="Body", description=gettext_noop("JSON, with places in its texts; empty: none is sent.")
    )

    @field_validator("path")
    @classmethod
    def _is_a_path(cls, path: str) -> str:
        if not path.startswith("/") or path.startswith("//"):
            raise refusal("A path begins with one /, such as /cards/{iccid}/usage")
        if "?" in path or "#" in path:
            raise refusal("There must be no ? and no # in a path: what stands behind ? belongs into the query")
        return quote(path, safe=PLAIN)

    @model_validator(mode="after")
    def _has_known_places(self) -> Self:
        unknown = places_in([self.path, self.query, self.headers, self.body]) - set(self.places)
        if unknown:
            known = ", ".join(f"{{{name}}}" for name in self.places)
            raise refusal(f"{{{min(unknown)}}} is replaced by nothing here: write one of {known}")
        return self

    @cached_property
    def asked_by(self) -> set[str]:
        """The names of the card's numbers that it is asked by."""
        return places_in([self.path, self.query, self.headers, self.body]) - {MONTH}

    @property
    def number(self) -> str:
        """The name of the number by which cards are asked for, where it is a single one."""
        return next(iter(self.asked_by)).removesuffix("s")


class TokenCall(Call):
    """What is sent for a token. {user}, {password} and {key} of the credentials are replaced everywhere."""

    places = OF_AN_ACCOUNT

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = Field(default="POST", title="Method")
    form: dict[str, str] = Field(
        default_factory=dict,
        title="Form",
        description=gettext_noop("Names and values, sent as a form instead of JSON."),
    )
    basic: bool = Field(
        default=False, title="Basic", description=gettext_noop("Send user and password as basic authorization as well.")
    )

    @model_validator(mode="after")
    def _has_one_body(self) -> Self:
        if self.form and self.body is not None:
            raise refusal("A call has a form or a body: leave one of them empty")
        if unknown := places_in(self.form) - set(self.places):
            raise refusal(f"{{{min(unknown)}}} is replaced by nothing in the form")
        return self


class Fields(Part):
    """Where in an answer what stands, and what the carrier's words mean. All that is found is written to the card."""

    state: JmesPath | None = Field(default=None, title="State")
    states: dict[str, CardState] = Field(
        default_factory=dict, title="States", description=gettext_noop("By the carrier's words.")
    )
    real_name: JmesPath | None = Field(default=None, title="Real name")
    real_names: dict[str, RealName] = Field(
        default_factory=dict, title="Real names", description=gettext_noop("By the carrier's words.")
    )
    package: JmesPath | None = Field(default=None, title="Package")
    used: JmesPath | None = Field(default=None, title="Used", description=gettext_noop("In this billing cycle."))
    allowance: JmesPath | None = Field(default=None, title="Allowance", description=gettext_noop("Of the package."))
    left: JmesPath | None = Field(
        default=None,
        title="Left",
        description=gettext_noop("Of the allowance, where it is not said how much of it is used."),
    )
    unit: str = Field(default="B", title="Unit", description=gettext_noop("Of all amounts: B, KB, MB, GB or TB."))
    unit_at: JmesPath | None = Field(
        default=None, title="Unit in the answer", description=gettext_noop("Where the answer names it.")
    )
    allowance_unit_at: JmesPath | None = Field(
        default=None,
        title="Unit of the allowance in the answer",
        description=gettext_noop("Where it has one of its own."),
    )
    thousand: Literal[1000, 1024] = Field(
        default=1024, title="A KB", description=gettext_noop("How many bytes it has.")
    )
    as_of: JmesPath | None = Field(
        None,
        title="As of",
        description=gettext_noop("ISO 8601, yyyyMMddHHmmss, or seconds or milliseconds since 1970."),
    )
    as_of_midnight: bool = Field(
        default=False,
        title="As of midnight",
        description=gettext_noop("The carrier counts until the last midnight, and says no time."),
    )

    @field_validator("unit")
    @classmethod
    def _is_a_unit(cls, unit: str) -> str:
        if not is_unit(unit):
            raise refusal("A unit is B, KB, MB, GB or TB")
        return unit

    @model_validator(mode="after")
    def _has_words(self) -> Self:
        for name, words in (("state", self.states), ("real_name", self.real_names)):
            if getattr(self, name) and not words:
                raise refusal(f"{name}: say in {name}s what the carrier's words mean, such as ACTIVE: …")
        return self

    @model_validator(mode="after")
    def _knows_of_what_it_is_left(self) -> Self:
        if self.left and not self.allowance:
            raise refusal("left: say in allowance where that stands of which it is left")
        return self


class Listed(Part):
    """Where in a list of cards each of them stands."""

    list: JmesPath = Field(title="List", description=gettext_noop("Where in the answer the cards stand."))
    id: JmesPath = Field(
        title="Number", description=gettext_noop("Where in each of them the number stands that it was asked by.")
    )


class BatchCall(Call, Listed):
    """What is sent for many cards. {iccids}, {iccid19s}, {msisdns} and {imsis} are replaced everywhere: in a body by a
    list, where they are a text by themselves, else by the numbers with the separator between them.
    """

    places = (*OF_MANY_CARDS, MONTH)

    size: int = Field(title="Size", description=gettext_noop("How many cards at most."), ge=2, le=1000)
    separator: str = Field(default=",", title="Separator", max_length=3)
    fields: Fields | None = Field(
        default=None, title="Fields", description=gettext_noop("In each of them; empty: as for a single card.")
    )

    @model_validator(mode="after")
    def _asks_by_one_number(self) -> Self:
        if len(self.asked_by) != 1:
            raise refusal(f"Many cards are asked for by exactly one of {_one_of(OF_MANY_CARDS)}")
        return self


class Check(Call):
    """How a card is asked about one thing."""

    fields: Fields = Field(title="Fields", description=gettext_noop("Where in the answer what stands."))
    among: Listed | None = Field(
        default=None,
        title="Among others",
        description=gettext_noop("Where the answer is a list in which the card has to be found."),
    )
    batch: BatchCall | None = Field(
        default=None, title="For many cards", description=gettext_noop("Where the carrier has that.")
    )

    @model_validator(mode="after")
    def _finds_it_by_one_number(self) -> Self:
        if self.among and not _is_found_by_one_number(self):
            raise refusal(f"among: a card is found in a list by exactly one of {_one_of(OF_A_CARD)}")
        return self


class Lookup(Call, Listed):
    """What is sent to learn the number under which only the carrier knows a card, {carrier_id}. It is kept."""

    places = OF_A_CARD

    found: JmesPath = Field(
        title="Found", description=gettext_noop("Where in the card's part of the list its {carrier_id} stands.")
    )

    @model_validator(mode="after")
    def _finds_it_by_one_number(self) -> Self:
        if not _is_found_by_one_number(self):
            raise refusal(f"A card is looked up by exactly one of {_one_of(OF_A_CARD)}")
        return self


def _is_found_by_one_number(call: Call) -> bool:
    return len(call.asked_by) == 1 and call.number in OF_A_CARD


def _one_of(places: tuple[str, ...]) -> str:
    *others, last = (f"{{{place}}}" for place in places)
    return f"{', '.join(others)} and {last}"
