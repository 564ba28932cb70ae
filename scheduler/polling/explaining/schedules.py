"""When each check of a card is due, and how asking it went: pure."""

from collections.abc import Iterator
from datetime import datetime

from django.utils.text import capfirst

from project.kit.spans import span
from scheduler.explaining import from_now
from scheduler.explaining.run_facts import sentence
from scheduler.polling import policy
from scheduler.polling.explaining import turns
from scheduler.polling.explaining.facts import CardFacts
from scheduler.polling.models import CardCheck
from scheduler.polling.states import CheckType


def lines(facts: CardFacts) -> Iterator[str]:
    """Yield a sentence or two of each check that its tier asks for, or that is due all the same."""
    for check in CheckType:
        interval = policy.interval_of(facts.tier, check)
        if interval is None and _due_at(facts, check) is None:
            continue
        each = f", each {span(interval)} by the tier “{facts.tier.name}”" if interval and facts.tier else ""
        yield f"{capfirst(check.label)}{each}: {_when(facts, check)}.{_failing(facts, facts.checks.get(check))}"


def next_at(facts: CardFacts) -> datetime | None:
    """Return when the card may be asked next: when it is due, and its account is not left in peace; None: never."""
    if facts.sight is not None:
        due = turns.first_due(facts.sight)
    else:
        due = min((at for check in CheckType if (at := _due_at(facts, check)) is not None), default=None)
    held = facts.account.held_until
    return None if due is None else max(due, facts.now, held or due)


def _when(facts: CardFacts, check: CheckType) -> str:
    if check not in facts.possible:
        return f"the account “{facts.account}” cannot make it"
    due = _due_at(facts, check)
    if due is None:
        return "not in the live order yet" if facts.order is not None else "never asked yet"
    return f"due {'since' if due <= facts.clock else 'at'} {facts.at(due)} ({from_now(due, facts.clock)})"


def _due_at(facts: CardFacts, check: CheckType) -> datetime | None:
    """Return when it is due: as the live order says, else as the rows do."""
    if facts.sight is not None:
        return facts.sight.due[check]
    row = facts.checks.get(check)
    return row.due_at if row is not None else None


def _failing(facts: CardFacts, row: CardCheck | None) -> str:
    if row is None or not row.failures or row.last_failed_at is None:
        return ""
    times = "once" if row.failures == 1 else f"{row.failures} times in a row"
    return f" It failed {times}, last at {facts.at(row.last_failed_at)}.{sentence(row.error)}"
