"""What an answer means: by its status, by the code in its body, and by what was asked for.

A code counts for more than the status, and what holds for the endpoint for more than what holds for all. Where neither
is listed:

- 2xx is success, unless the body has a code that is none of success: that is not understood.
- 401 and 403 are the credentials; whatever the token endpoint refuses (400, 401, 403, 404) are as well.
- 404 and 410 are the card, if one card was asked for; otherwise the address is wrong, which is not understood.
- 408 is a timeout, 409 and 423 the card's state, 429 throttling, 402 the account's quota; 5xx the carrier's own error.
- 3xx, which is not followed, and the other 4xx are not understood.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from project.kit.outbound import retry_after
from scheduler.polling.carriers.answers import Answer, NoDocument
from scheduler.polling.carriers.base import CarrierError
from scheduler.polling.carriers.documents import Expression, as_text
from scheduler.polling.carriers.secrecy import Secrets
from scheduler.polling.states import ErrorClass

SAYS = {
    ErrorClass.AUTH: "refuses the credentials",
    ErrorClass.TOKEN_EXPIRED: "says that the token has expired",
    ErrorClass.THROTTLED: "is asked too often",
    ErrorClass.QUOTA_EXHAUSTED: "says that the account's quota is used up",
    ErrorClass.CARD_MISSING: "does not know the card",
    ErrorClass.CARD_NOT_OWNED: "says that the card belongs to another account",
    ErrorClass.STATE_FORBIDS: "does not allow that in the card's state",
    ErrorClass.COOLDOWN: "says that the card was changed too lately",
    ErrorClass.PENDING: "took it and has not done it yet",
    ErrorClass.SERVER: "has an error of its own",
    ErrorClass.TIMEOUT: "gave up waiting for the request",
    ErrorClass.NETWORK: "says that it cannot reach what is behind it",
}
_BY_STATUS = {
    402: ErrorClass.QUOTA_EXHAUSTED,
    401: ErrorClass.AUTH,
    403: ErrorClass.AUTH,
    404: ErrorClass.CARD_MISSING,
    408: ErrorClass.TIMEOUT,
    409: ErrorClass.STATE_FORBIDS,
    410: ErrorClass.CARD_MISSING,
    423: ErrorClass.STATE_FORBIDS,
    429: ErrorClass.THROTTLED,
}


class Aim(Enum):
    """What a call is about."""

    CARD = "card"
    CARDS = "cards"
    TOKEN = "token"  # noqa: S105 - no token, the word


@dataclass(frozen=True, slots=True)
class Rules:
    """What codes and statuses mean, and how many seconds to wait after a code, where no header says it."""

    codes: Mapping[str, ErrorClass] = field(default_factory=dict)
    statuses: Mapping[int, ErrorClass] = field(default_factory=dict)
    waits: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Codebook:
    """How a carrier says what went wrong.

    Attributes:
        code, message: where they stand in the body; None: nowhere.
        success: the codes that mean success; none: that there is a code at all means failure.
        general: the rules for all endpoints.
        endpoints: those for one, by its name.
        wait_header: that tells a caller who is throttled in seconds how long to wait, by its lower-case name; empty:
            only Retry-After does.
    """

    code: Expression | None = None
    message: Expression | None = None
    success: frozenset[str] = frozenset()
    general: Rules = field(default_factory=Rules)
    endpoints: Mapping[str, Rules] = field(default_factory=dict)
    wait_header: str = ""

    def class_of(self, status: int, code: str, endpoint: str, aim: Aim) -> ErrorClass | None:
        """Return what the status and the code, empty for none, mean at the endpoint; None: success."""
        rules = self._rules_for(endpoint)
        for listed in (*(each.codes.get(code) for each in rules), *(each.statuses.get(status) for each in rules)):
            if listed is not None:
                return listed
        if 200 <= status < 300:
            return ErrorClass.MALFORMED if code and code not in self.success else None
        return _by_status(status, aim)

    def code_in(self, document: Any) -> str:
        """Return the code that the document, or a part of it, has; empty for none."""
        return as_text(self.code(document)) if self.code else ""

    def message_in(self, document: Any) -> str:
        """Return the message that the document, or a part of it, has; empty for none."""
        return as_text(self.message(document)) if self.message else ""

    def wait_after(self, error_class: ErrorClass, code: str, endpoint: str, headers: Mapping[str, str]) -> float | None:
        """Return how many seconds the carrier wants to be left in peace; None: it does not say."""
        said = retry_after(headers)
        if said is None and error_class is ErrorClass.THROTTLED:
            said = retry_after({"retry-after": headers.get(self.wait_header, "")})
        known = (each.waits[code] for each in self._rules_for(endpoint) if code in each.waits)
        return next(known, None) if said is None else said

    def _rules_for(self, endpoint: str) -> tuple[Rules, Rules]:
        return self.endpoints.get(endpoint, Rules()), self.general


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges what one host answers.

    Attributes:
        host: is named in errors.
        secrets: what errors must not betray.
    """

    codebook: Codebook
    host: str
    secrets: Secrets

    def check(self, answer: Answer, endpoint: str, aim: Aim = Aim.CARD) -> None:
        """Return if the answer is one of success.

        Raises:
            CarrierError: it is not; the error says what it is.
        """
        document = _document_of(answer)
        code = self.codebook.code_in(document)
        error_class = self.codebook.class_of(answer.status, code, endpoint, aim)
        if error_class is not None:
            wait = self.codebook.wait_after(error_class, code, endpoint, answer.headers)
            raise self._error(error_class, answer.status, document, wait)
        if self.codebook.success and not code:
            sentence = f"{self.host} answered {answer.status} without the code that says whether it went well."
            raise CarrierError(ErrorClass.MALFORMED, sentence)

    def check_part(self, part: Any, endpoint: str) -> None:
        """Return if the part of an answer about many cards that is about one says no failure.

        Raises:
            CarrierError: it does.
        """
        error_class = self.codebook.class_of(200, self.codebook.code_in(part), endpoint, Aim.CARD)
        if error_class is not None:
            raise self._error(error_class, 200, part)

    def _error(
        self, error_class: ErrorClass, status: int, document: Any, retry_after: float | None = None
    ) -> CarrierError:
        code = self.secrets.quoted(self.codebook.code_in(document))
        message = self.secrets.quoted(self.codebook.message_in(document))
        numbers = f"HTTP {status}, code {code}" if code else f"HTTP {status}"
        words = _says(error_class, status)
        sentence = f"{self.host} {words} ({numbers}: “{message}”)." if message else f"{self.host} {words} ({numbers})."
        return CarrierError(error_class, sentence, code or str(status), retry_after)


def _document_of(answer: Answer) -> Any:
    try:
        return answer.document
    except NoDocument:
        return None  # a failure in prose, or success without a word


def _by_status(status: int, aim: Aim) -> ErrorClass:
    if status >= 500:
        return ErrorClass.SERVER
    if aim is Aim.TOKEN and status in (400, 404):
        return ErrorClass.AUTH
    listed = _BY_STATUS.get(status, ErrorClass.MALFORMED)
    return ErrorClass.MALFORMED if listed is ErrorClass.CARD_MISSING and aim is not Aim.CARD else listed


def _says(error_class: ErrorClass, status: int) -> str:
    if error_class is not ErrorClass.MALFORMED:
        return SAYS[error_class]
    if status < 300:
        return "answers with a code that the settings do not know: add it to their errors"
    return "leads on to another address, which is not followed" if status < 400 else "does not take the request"
