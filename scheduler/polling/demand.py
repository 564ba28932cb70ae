"""What the tiers ask of each account, for the cards that it has: counted by the rows."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.db.models import Case, Count, DecimalField, Func, Value, When
from django.db.models.functions import Cast

from scheduler.polling import accounts, policy, tiers
from scheduler.polling.carriers.registry import BadSettings
from scheduler.polling.fleet import live_order
from scheduler.polling.models import CarrierAccount
from scheduler.polling.policy import Demand, Facts, Tier
from scheduler.polling.states import CheckType

# Of a card that has no allowance everything is used.
NO_ALLOWANCE = -1
NUMBER: "DecimalField[Any, Any]" = DecimalField(max_digits=30, decimal_places=0)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of one account.

    Attributes:
        cards: that are polled.
        matched: those of them that a tier matches.
        demand: calls a day, beside what its rate windows allow.
        full_cycle: how long it takes to make every check of every card once; None: no window limits it.
    """

    cards: int
    matched: int
    demand: Demand
    full_cycle: timedelta | None


def of_accounts(rows: Sequence[CarrierAccount]) -> dict[int, Asked]:
    """Return what is asked of each of the accounts, with one query whatever they have."""
    counted: dict[int, list[tuple[Tier | None, int]]] = {row.pk: [] for row in rows}
    known = tiers.current()
    for account_id, facts, count in counted_by_facts(counted):
        counted[account_id].append((policy.tier_of(known, facts), count))
    return {row.pk: _asked(row, counted[row.pk]) for row in rows}


def _asked(row: CarrierAccount, counted: Sequence[tuple[Tier | None, int]]) -> Asked:
    possible, windows = _possible(row), accounts.params_of(row).rate_windows
    matched = [(_with_only(tier, possible), count) for tier, count in counted if tier is not None]
    return Asked(
        cards=sum(count for _, count in counted),
        matched=sum(count for _, count in matched),
        demand=policy.demand(matched, windows),
        full_cycle=policy.full_cycle(sum(len(tier.seconds) * count for tier, count in matched), windows),
    )


def _possible(row: CarrierAccount) -> frozenset[CheckType]:
    """Return the checks that the account can make: none where its settings cannot be used."""
    try:
        return accounts.checks_of(row)
    except BadSettings:
        return frozenset()


def _with_only(tier: Tier, possible: frozenset[CheckType]) -> Tier:
    return replace(tier, seconds={check: seconds for check, seconds in tier.seconds.items() if check in possible})


def counted_by_facts(account_ids: Iterable[int]) -> Iterator[tuple[int, Facts, int]]:
    """Yield how many polled cards of an account have the same facts, as far as tiers tell them apart.

    Tiers compare shares with whole percents: so the share in whole percents, rounded down, decides the same.
    """
    hundredfold = Cast("used_bytes", NUMBER) * 100  # which may be more than the column itself could hold
    share = Case(
        When(allowance_bytes__gt=0, then=Func(hundredfold, "allowance_bytes", function="div", output_field=NUMBER)),
        When(allowance_bytes__isnull=False, used_bytes__isnull=False, then=Value(NO_ALLOWANCE)),
        output_field=NUMBER,
    )
    cards = live_order.polled_cards().filter(account__in=list(account_ids)).annotate(percent=share).order_by()
    grouped = cards.values_list("account", "state", "real_name_state", "package", "percent").annotate(count=Count("id"))
    for account_id, state, real_name, package, percent, count in grouped:
        yield account_id, _facts(state, real_name, package, None if percent is None else int(percent)), count


def _facts(state: str, real_name: str, package: str, percent: int | None) -> Facts:
    used, allowance = (0, 0) if percent == NO_ALLOWANCE else (percent, 100)
    return Facts(state, real_name, package, used, allowance, reset_day=1, timezone="UTC")
