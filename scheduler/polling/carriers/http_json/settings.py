"""The settings of an account at a JSON API; what they promise, their descriptions say, which are also in the form."""

from typing import Annotated, Literal, Self

from django.conf import settings
from django.utils.translation import gettext_noop
from pydantic import AfterValidator, Field, PositiveFloat, model_validator

from project.kit.outbound import BadAddress, check_address
from scheduler.polling.carriers.base import AccountSettings, refusal
from scheduler.polling.carriers.client import Timeouts
from scheduler.polling.carriers.documents import Expression
from scheduler.polling.carriers.http_json.parts import (
    Call,
    Check,
    Fields,
    HeaderName,
    HeaderValue,
    JmesPath,
    Lookup,
    Part,
    TokenCall,
)
from scheduler.polling.carriers.http_json.templates import LOOKED_UP
from scheduler.polling.carriers.judging import Codebook, Rules
from scheduler.polling.states import CheckType, ErrorClass

# What each check has to find: one of these.
WANTED = {
    CheckType.REAL_NAME: ("real_name",),
    CheckType.USAGE: ("used", "left"),
    CheckType.CARD_STATUS: ("state",),
    CheckType.PACKAGE: ("package",),
}
Endpoint = Literal["real_name", "usage", "card_status", "package", "stop", "resume", "lookup", "token"]


def _may_be_called(address: str) -> str:
    try:
        checked = check_address(address, allowed_hosts=settings.TIDELINE_ALLOWED_HOSTS_INWARD)
    except BadAddress as error:
        raise refusal(str(error).removesuffix(".")) from None
    if "?" in checked.url:
        raise refusal("The base address has no query: put it into the query of each call")
    return checked.url.rstrip("/")


BaseAddress = Annotated[str, AfterValidator(_may_be_called)]


class NoAuth(Part):
    """Nobody asks who we are."""

    kind: Literal["none"] = "none"


class BasicAuth(Part):
    """User and password with each call."""

    kind: Literal["basic"]


class BearerAuth(Part):
    """The key, as `Authorization: Bearer …`."""

    kind: Literal["bearer"]


class HeaderAuth(Part):
    """The key in a header."""

    kind: Literal["header"]
    name: HeaderName = Field(title="Header")
    prefix: HeaderValue = Field(default="", title="Prefix", description=gettext_noop("Before the key, with its space."))


class QueryAuth(Part):
    """The key in the query."""

    kind: Literal["query"]
    name: str = Field(title="Name", min_length=1)


class TokenAuth(Part):
    """A token that is fetched with the credentials, kept, and fetched anew when it ends or is refused."""

    kind: Literal["token"]
    base_url: BaseAddress | None = Field(
        default=None, title="Address", description=gettext_noop("Where the endpoint is elsewhere.")
    )
    request: TokenCall = Field(title="Request")
    token: JmesPath = Field(
        default="access_token", title="Token", description=gettext_noop("Where in the answer it stands.")
    )
    lifetime: JmesPath | None = Field(
        "expires_in",
        title="Lifetime",
        description=gettext_noop("Where it stands, in seconds; where it is not: until refused."),
    )
    place: Literal["header", "query"] = Field(
        "header", title="Place", description=gettext_noop("Of the token in each call.")
    )
    name: HeaderName = Field(
        default="Authorization", title="Name", description=gettext_noop("Of the header or in the query.")
    )
    prefix: HeaderValue = Field(
        default="Bearer ", title="Prefix", description=gettext_noop("Before the token, with its space.")
    )
    shared: bool = Field(
        default=False,
        title="Shared",
        description=gettext_noop("One token for all processes: where each new token ends the one before."),
    )


Auth = Annotated[
    NoAuth | BasicAuth | BearerAuth | HeaderAuth | QueryAuth | TokenAuth, Field(discriminator="kind", title="Kind")
]


class ErrorRules(Part):
    """What the carrier's codes and statuses mean, where it is not what carriers.judging takes them for."""

    codes: dict[str, ErrorClass] = Field(default_factory=dict, title="Codes", description=gettext_noop("In the body."))
    statuses: dict[int, ErrorClass] = Field(
        default_factory=dict, title="Statuses", description=gettext_noop("Of HTTP.")
    )
    waits: dict[str, PositiveFloat] = Field(
        default_factory=dict,
        title="Waits",
        description=gettext_noop("Seconds to wait after a code, where no header says it."),
    )

    def rules(self) -> Rules:
        """Return them as answers are judged by them."""
        return Rules(self.codes, self.statuses, self.waits)


class Errors(ErrorRules):
    """How the carrier says what went wrong."""

    code: JmesPath | None = Field(
        default=None, title="Code", description=gettext_noop("Where in the answer it stands.")
    )
    message: JmesPath | None = Field(
        default=None, title="Message", description=gettext_noop("Where in the answer it stands.")
    )
    success: list[str] = Field(
        default_factory=list,
        title="Success",
        description=gettext_noop("Codes that mean it; empty: to have a code is failure."),
    )
    endpoints: dict[Endpoint, ErrorRules] = Field(
        default_factory=dict, title="Endpoints", description=gettext_noop("What codes mean at one of them; it wins.")
    )
    wait_header: HeaderName | None = Field(
        default=None,
        title="Header of the wait",
        description=gettext_noop("Tells in seconds how long to wait when throttled, where Retry-After does not."),
    )

    @model_validator(mode="after")
    def _says_where_codes_stand(self) -> Self:
        if (self.codes or self.success or self.waits) and self.code is None:
            raise refusal("code: say where in the answer the code stands, else no code can be found")
        return self

    def codebook(self) -> Codebook:
        """Return them as answers are judged by them."""
        return Codebook(
            code=Expression(self.code) if self.code else None,
            message=Expression(self.message) if self.message else None,
            success=frozenset(self.success),
            general=self.rules(),
            endpoints={endpoint: each.rules() for endpoint, each in self.endpoints.items()},
            wait_header=(self.wait_header or "").lower(),
        )


class HttpJsonSettings(AccountSettings):
    """How a JSON API is asked about cards."""

    base_url: BaseAddress = Field(title="Address", description=gettext_noop("What all paths stand behind."))
    auth: Auth = Field(default_factory=NoAuth, title="Authorization")
    checks: dict[CheckType, Check] = Field(
        title="Checks", description=gettext_noop("How a card is asked about what."), min_length=1
    )
    stop: Call | None = Field(default=None, title="Stop", description=gettext_noop("How a card is stopped."))
    resume: Call | None = Field(
        default=None, title="Resume", description=gettext_noop("How a stopped card is resumed.")
    )
    lookup: Lookup | None = Field(
        default=None,
        title="Lookup",
        description=gettext_noop("How the carrier's own number of a card is found, where it is needed."),
    )
    errors: Errors = Field(default_factory=Errors)
    timeouts: Timeouts = Field(default_factory=Timeouts)

    @property
    def supported(self) -> frozenset[CheckType]:
        """Which checks can be made: those of which it is said how."""
        return frozenset(self.checks)

    @property
    def token_url(self) -> str:
        """What the path of the token endpoint stands behind."""
        return (isinstance(self.auth, TokenAuth) and self.auth.base_url) or self.base_url

    @model_validator(mode="after")
    def _finds_what_it_checks(self) -> Self:
        for check, call in self.checks.items():
            for name, fields in (("fields", call.fields), ("batch.fields", call.batch and call.batch.fields)):
                if isinstance(fields, Fields) and not any(getattr(fields, wanted) for wanted in WANTED[check]):
                    raise refusal(f"checks.{check}.{name}: say in {WANTED[check][0]} where in the answer it stands")
        return self

    @model_validator(mode="after")
    def _can_look_up(self) -> Self:
        calls = (*self.checks.values(), self.stop, self.resume)
        if self.lookup is None and any(call and LOOKED_UP in call.asked_by for call in calls):
            raise refusal(f"lookup: say how {{{LOOKED_UP}}} is found, by which the carrier is asked")
        return self
