"""How many cards each tier is for, and how many calls a day that makes: by the rule that the polling itself goes by."""

from collections import Counter
from typing import Any

from django.utils.translation import gettext as _

from project.kit.admin import row_link
from scheduler.polling import demand, policy
from scheduler.polling.admin import cells
from scheduler.polling.models import CarrierAccount, PollingTier
from scheduler.polling.tiers import as_tier


def cards_of_tiers() -> tuple[list[tuple[PollingTier, int]], int]:
    """Return how many of the polled cards each tier is for, in their order, and how many no tier is for."""
    rows = list(PollingTier.objects.order_by("position"))
    tiers = [as_tier(row) for row in rows]
    places = {id(tier): place for place, tier in enumerate(tiers)}
    found: Counter[int | None] = Counter()
    for _account_id, facts, count in demand.counted_by_facts(CarrierAccount.objects.values_list("pk", flat=True)):
        tier = policy.tier_of(tiers, facts)
        found[None if tier is None else places[id(tier)]] += count
    return [(row, found[place]) for place, row in enumerate(rows)], found[None]


def calls_a_day(row: PollingTier, cards: int) -> int:
    """Return how many calls a day so many cards of a tier make."""
    return policy.demand([(as_tier(row), cards)], ()).calls_a_day


def counted() -> dict[str, Any]:
    """Return the same as lines of a table."""
    found, unmatched = cards_of_tiers()
    total = sum(cards for _row, cards in found) + unmatched
    lines = [_line(row, cards, total) for row, cards in found]
    return {
        "lines": lines,
        "unmatched": f"{unmatched:,}" if unmatched else "",
        "total": f"{total:,}",
        "calls": f"{sum(line['calls_a_day'] for line in lines):,}",
    }


def _line(row: PollingTier, cards: int, total: int) -> dict[str, Any]:
    calls = calls_a_day(row, cards)
    return {
        "position": row.position,
        "tier": row_link(row),
        "conditions": cells.conditions(row),
        "cards": f"{cards:,}",
        "share": _("%(percent)s %%") % {"percent": round(cards * 100 / total)} if total else "",
        "calls": f"{calls:,}",
        "calls_a_day": calls,
    }
