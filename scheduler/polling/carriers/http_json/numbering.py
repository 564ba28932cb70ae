"""By which numbers a carrier is asked about cards, and those that only the carrier knows."""

from collections.abc import Sequence

from scheduler.polling.carriers.base import CardRef, CarrierError, Outcome
from scheduler.polling.carriers.documents import Expression, as_text
from scheduler.polling.carriers.http_json.authorizing import Line, document_of
from scheduler.polling.carriers.http_json.drafts import draft
from scheduler.polling.carriers.http_json.many import Listing
from scheduler.polling.carriers.http_json.parts import Call, Lookup
from scheduler.polling.carriers.http_json.templates import LOOKED_UP, OF_A_CARD
from scheduler.polling.carriers.judging import Aim
from scheduler.polling.states import ErrorClass

# A number is some 100 bytes: no fleet of an account that one process asks for is larger.
MOST_KEPT = 200_000


class CarrierIds:
    """The numbers under which only the carrier knows its cards: each is looked up once, and kept."""

    def __init__(self, lookup: Lookup, line: Line, host: str) -> None:
        self._lookup, self._line, self._host = lookup, line, host
        self._listing, self._found = Listing(lookup, host), Expression(lookup.found)
        self._kept: dict[str, str] = {}

    async def of(self, card: CardRef) -> str:
        """Return the carrier's number of the card.

        Raises:
            CarrierError: the carrier does not know the card, or did not answer what was asked.
            Busy: the gate would take too long to open.
        """
        return self._kept.get(card.iccid) or await self._look_up(card)

    def keeps(self, card: CardRef) -> bool:
        """Tell whether the number was looked up before."""
        return card.iccid in self._kept

    def forget(self, card: CardRef) -> None:
        """Forget the number, which the carrier does not know any more."""
        self._kept.pop(card.iccid, None)

    async def _look_up(self, card: CardRef) -> str:
        numbers = numbers_of(card, self._lookup)
        answer = await self._line.ask(draft("lookup", self._lookup, numbers), Aim.CARDS)
        part = self._listing.part_of(document_of(answer, self._host), numbers[self._lookup.number])
        found = as_text(self._found(part))
        if not found:
            sentence = f"{self._host} answers without its own number of the card at “{self._found.text}”."
            raise CarrierError(ErrorClass.MALFORMED, sentence)
        if len(self._kept) >= MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[card.iccid] = found
        return found


def numbers_of(card: CardRef, call: Call) -> dict[str, str]:
    """Return the card's numbers by which the call may ask.

    Raises:
        CarrierError: the card has not all of those by which it does.
    """
    for name in call.asked_by - {LOOKED_UP}:
        if not getattr(card, name):
            raise _without(name)
    return {name: getattr(card, name) for name in OF_A_CARD}


def by_number(cards: Sequence[CardRef], name: str) -> tuple[dict[str, list[CardRef]], dict[int, Outcome]]:
    """Return the cards by a number that they have, and the outcomes of those that have none."""
    numbered: dict[str, list[CardRef]] = {}
    outcomes: dict[int, Outcome] = {}
    for card in cards:
        if number := getattr(card, name):
            numbered.setdefault(number, []).append(card)
        else:
            outcomes[card.id] = _without(name)
    return numbered, outcomes


def _without(name: str) -> CarrierError:
    sentence = f"The card has no {name.upper()}, by which this carrier is asked. Add it to the card."
    return CarrierError(ErrorClass.CARD_MISSING, sentence)
