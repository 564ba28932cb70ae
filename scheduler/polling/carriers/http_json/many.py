"""An answer about many cards, taken apart: what befalls one of them does not touch the others."""

from collections.abc import Mapping, Sequence
from typing import Any

from scheduler.polling.carriers.base import CardRef, CarrierError, Outcome
from scheduler.polling.carriers.documents import Expression, as_text
from scheduler.polling.carriers.http_json.parts import Listed
from scheduler.polling.carriers.http_json.reading import Reader
from scheduler.polling.carriers.judging import Judge
from scheduler.polling.states import ErrorClass


class Listing:
    """Finds cards in lists, by exactly the number that they were asked by: some carriers list similar ones as well."""

    def __init__(self, listed: Listed, host: str) -> None:
        self._list, self._id, self._host = Expression(listed.list), Expression(listed.id), host

    def parts(self, document: Any) -> dict[str, Any]:
        """Return the part of each card by its number.

        Raises:
            CarrierError: the document has no list of cards at all.
        """
        parts = self._list(document)
        if not isinstance(parts, list):
            sentence = f"{self._host} answers without the list of cards at “{self._list.text}”."
            raise CarrierError(ErrorClass.MALFORMED, sentence)
        return {as_text(self._id(part)): part for part in parts}

    def part_of(self, document: Any, number: str) -> Any:
        """Return the part of one card.

        Raises:
            CarrierError: it has none, or there is no list at all.
        """
        parts = self.parts(document)
        if number not in parts:
            raise self.missing()
        return parts[number]

    def missing(self) -> CarrierError:
        """Return what is wrong where a card has no part."""
        return CarrierError(ErrorClass.CARD_MISSING, f"{self._host} leaves the card out of its list of cards.")


class PartsReader:
    """Reads the part of each card."""

    def __init__(self, endpoint: str, listed: Listed, reader: Reader, judge: Judge) -> None:
        self._endpoint, self._reader, self._judge = endpoint, reader, judge
        self._listing = Listing(listed, judge.host)

    def read(self, document: Any, cards: Mapping[str, Sequence[CardRef]]) -> dict[int, Outcome]:
        """Return the outcome of each card, which are given by the number that they were asked by.

        Raises:
            CarrierError: the document has no list of cards at all.
        """
        parts = self._listing.parts(document)
        return {
            card.id: self._outcome(parts[number]) if number in parts else self._listing.missing()
            for number, named in cards.items()
            for card in named
        }

    def _outcome(self, part: Any) -> Outcome:
        try:
            self._judge.check_part(part, self._endpoint)
            return self._reader.read(part)
        except CarrierError as error:
            return error
