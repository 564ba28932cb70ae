"""An answer about many cards, taken apart: what befalls one of them does not touch the others."""

from collections.abc import Mapping, Sequence
from typing import Any

from scheduler.polling.carriers.base import CardRef, CarrierError, Outcome
from scheduler.polling.carriers.documents import Expression, as_text
from scheduler.polling.carriers.http_json.parts import BatchCall
from scheduler.polling.carriers.http_json.reading import Reader
from scheduler.polling.carriers.judging import Judge
from scheduler.polling.states import ErrorClass


class PartsReader:
    """Reads the part of each card."""

    def __init__(self, endpoint: str, call: BatchCall, reader: Reader, judge: Judge) -> None:
        self._endpoint, self._reader, self._judge = endpoint, reader, judge
        self._list, self._id = Expression(call.list), Expression(call.id)

    def read(self, document: Any, cards: Mapping[str, Sequence[CardRef]]) -> dict[int, Outcome]:
        """Return the outcome of each card, which are given by the number that they were asked by.

        Raises:
            CarrierError: the document has no list of cards at all.
        """
        parts = self._list(document)
        if not isinstance(parts, list):
            sentence = f"{self._judge.host} answers without the list of cards at “{self._list.text}”."
            raise CarrierError(ErrorClass.MALFORMED, sentence)
        by_number = {as_text(self._id(part)): part for part in parts}
        return {
            card.id: self._outcome(by_number[number]) if number in by_number else self._missing()
            for number, named in cards.items()
            for card in named
        }

    def _outcome(self, part: Any) -> Outcome:
        try:
            self._judge.check_part(part, self._endpoint)
            return self._reader.read(part)
        except CarrierError as error:
            return error

    def _missing(self) -> CarrierError:
        sentence = f"{self._judge.host} leaves the card out of its answer about many cards."
        return CarrierError(ErrorClass.CARD_MISSING, sentence)
