"""What the rows say of cards, as the live order keeps it: which are polled, and when each of their checks is due."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from django.db.models import QuerySet

from scheduler.polling import policy, tiers
from scheduler.polling.cards import FACTS, with_facts
from scheduler.polling.models import Card, CardCheck
from scheduler.polling.policy import Facts, Tier
from scheduler.polling.queue import MOST_CARDS
from scheduler.polling.queue import Card as Entry
from scheduler.polling.states import CheckType

# Of a check: when the rows say it is due, and its failures in a row.
Known = tuple[datetime | None, int]
NOTHING_KNOWN: Known = (None, 0)
# Says when a check of a card is due, given its tier, if there is one.
DueRule = Callable[[CheckType, Facts, Sequence[Tier], int, Known], datetime | None]


def polled_cards() -> QuerySet[Card]:
    """Return the cards that are polled: every one of them is in the live order of its account, and no other is."""
    return Card.objects.filter(polling_enabled=True, account__active=True)


def as_before(now: datetime) -> DueRule:
    """Return the rule by which cards stay where they were, and those of which nothing is known are spread."""

    def due(check: CheckType, facts: Facts, matching: Sequence[Tier], card_id: int, known: Known) -> datetime | None:
        return policy.kept_due(check, facts, matching, now, card_id, *known)

    return due


def soon(now: datetime, within: timedelta) -> DueRule:
    """Return the rule by which cards are due now, spread over a span."""

    def due(check: CheckType, facts: Facts, matching: Sequence[Tier], card_id: int, known: Known) -> datetime | None:
        return policy.resumed_due(check, facts, matching, now, card_id, within)

    return due


def pages(cards: QuerySet[Card], due: DueRule, size: int = MOST_CARDS) -> Iterator[list[Entry]]:
    """Yield all of the cards as the live order keeps them, page by page, each as the rows are when it is read."""
    last = 0
    while page := entries(cards.filter(pk__gt=last).order_by("pk")[:size], due):
        yield page
        last = page[-1].card_id


def entries(cards: QuerySet[Card], due: DueRule) -> list[Entry]:
    """Return some cards as the live order keeps them."""
    rows = list(with_facts(cards).values_list("id", *FACTS))
    known = _known([row[0] for row in rows])
    set_tiers = tiers.current()
    return [_entry(row[0], Facts(*row[1:]), known.get(row[0], {}), set_tiers, due) for row in rows]


def _known(card_ids: Sequence[int]) -> dict[int, dict[str, Known]]:
    """Return what the rows know of the cards' checks, by card and type."""
    known: dict[int, dict[str, Known]] = {}
    checks = CardCheck.objects.filter(card_id__in=card_ids)
    for card_id, check, due_at, failures in checks.values_list("card_id", "type", "due_at", "failures"):
        known.setdefault(card_id, {})[check] = due_at, failures
    return known


def _entry(card_id: int, facts: Facts, known: Mapping[str, Known], set_tiers: Sequence[Tier], due: DueRule) -> Entry:
    tier = policy.tier_of(set_tiers, facts)
    matching = () if tier is None else (tier,)
    return Entry(
        card_id,
        {check: due(check, facts, matching, card_id, known.get(check, NOTHING_KNOWN)) for check in CheckType},
        {CheckType(check): failures for check, (_, failures) in known.items() if failures},
    )
