"""What an answer says of a card, by the fields in the settings."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from alerts.channels.text import one_line
from scheduler.polling.carriers.base import CarrierError, Reading
from scheduler.polling.carriers.documents import Expression, as_text
from scheduler.polling.carriers.http_json.parts import Fields
from scheduler.polling.carriers.units import NoAmount, to_bytes, used_of
from scheduler.polling.carriers.wall_clock import last_midnight
from scheduler.polling.states import CardState, CheckType, ErrorClass, RealName

LONGEST_PACKAGE = 100
# Of each check, the column that is its value.
COLUMNS = {
    CheckType.REAL_NAME: "real_name_state",
    CheckType.USAGE: "used_bytes",
    CheckType.CARD_STATUS: "state",
    CheckType.PACKAGE: "package",
}
_EXPRESSIONS = (
    "state", "real_name", "package", "used", "allowance", "left", "unit_at", "allowance_unit_at", "as_of"
)  # fmt: skip
_DIGITS = re.compile(r"[0-9]{14}")
_SINCE_1970 = re.compile(r"[0-9]{9,10}(?:\.[0-9]+)?|[0-9]{12,13}")
# From here on a number of seconds would be of the year 5138, so it is milliseconds.
_MILLISECONDS_FROM = 10**11


class Reader:
    """Reads answers of one check.

    Args:
        zone: of times that name none.
        host: is named in errors.
        quoted: makes what the carrier wrote fit to be shown.
    """

    def __init__(
        self, check: CheckType, fields: Fields, zone: ZoneInfo, host: str, quoted: Callable[[str], str]
    ) -> None:
        self._check, self._fields, self._zone, self._host, self._quoted = check, fields, zone, host, quoted
        texts = {name: getattr(fields, name) for name in Fields.model_fields}
        self._at = {name: Expression(texts[name]) for name in _EXPRESSIONS if texts[name]}

    def read(self, document: Any) -> Reading:
        """Return what the document says of the card.

        Raises:
            CarrierError: what was asked for is not in it, or is not what it should be.
        """
        columns = {name: value for name, value in self._columns(document).items() if value is not None}
        column = COLUMNS[self._check]
        if column not in columns:
            raise self._malformed(f"says nothing of the {self._check.label}, which was asked for")
        return Reading(columns[column], "B" if self._check is CheckType.USAGE else "", self._as_of(document), columns)

    def _columns(self, document: Any) -> dict[str, Any]:
        return {
            "state": self._word(document, "state", self._fields.states),
            "real_name_state": self._word(document, "real_name", self._fields.real_names),
            "package": one_line(self._text(document, "package"))[:LONGEST_PACKAGE] or None,
            "used_bytes": self._used(document),
            "allowance_bytes": self._bytes(document, "allowance"),
        }

    def _found(self, document: Any, name: str) -> Any:
        return self._at[name](document) if name in self._at else None

    def _text(self, document: Any, name: str) -> str:
        return as_text(self._found(document, name))

    def _word(self, document: Any, name: str, words: Mapping[str, CardState] | Mapping[str, RealName]) -> str | None:
        text = self._text(document, name)
        if text and text not in words:
            raise self._malformed(
                f"says {name} “{self._quoted(text)}”, which the settings do not know: add it to {name}s"
            )
        return words[text].value if text else None

    def _used(self, document: Any) -> int | None:
        left, allowance = self._found(document, "left"), self._found(document, "allowance")
        if left is None or allowance is None:
            return self._bytes(document, "used")
        try:
            return used_of(allowance, left, self._unit(document, "left"), self._fields.thousand)
        except NoAmount as error:
            raise self._no_amount("left", left, error) from None

    def _bytes(self, document: Any, name: str) -> int | None:
        value = self._found(document, name)
        if value is None:
            return None
        try:
            return to_bytes(value, self._unit(document, name), self._fields.thousand)
        except NoAmount as error:
            raise self._no_amount(name, value, error) from None

    def _unit(self, document: Any, name: str) -> str:
        of_its_own = self._text(document, "allowance_unit_at") if name == "allowance" else ""
        return of_its_own or self._text(document, "unit_at") or self._fields.unit

    def _no_amount(self, name: str, value: Any, error: NoAmount) -> CarrierError:
        return self._malformed(f"says {name} “{self._quoted(as_text(value))}”, but {error}")

    def _as_of(self, document: Any) -> datetime | None:
        text = self._text(document, "as_of")
        if not text:
            return last_midnight(self._zone) if self._fields.as_of_midnight else None
        try:
            instant = _instant(text)
            return (instant if instant.tzinfo else instant.replace(tzinfo=self._zone)).astimezone(UTC)
        except (ValueError, OverflowError, OSError):
            raise self._malformed(f"says as of “{self._quoted(text)}”, which is no time") from None

    def _malformed(self, what: str) -> CarrierError:
        return CarrierError(ErrorClass.MALFORMED, f"{self._host} {what}.")


def _instant(text: str) -> datetime:
    """Return the instant, without a zone where the text names none."""
    if _DIGITS.fullmatch(text):
        return datetime.strptime(text, "%Y%m%d%H%M%S")  # noqa: DTZ007 - the caller adds the zone
    if _SINCE_1970.fullmatch(text):
        number = float(text)
        return datetime.fromtimestamp(number / 1000 if number >= _MILLISECONDS_FROM else number, UTC)
    return datetime.fromisoformat(text)
