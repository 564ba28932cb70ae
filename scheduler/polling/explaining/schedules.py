"""When each check of a card is due, and how asking it went: pure."""

from collections.abc import Iterator
from datetime import datetime

from django.utils.text import capfirst
from django.utils.translation import gettext as _

from project.kit.sentences import together
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
        text = _("%(check)s: %(when)s.")
        said = {"check": capfirst(check.label), "when": _when(facts, check)}
        if interval and facts.tier:
            text = _("%(check)s, each %(span)s by the tier “%(tier)s”: %(when)s.")
            said |= {"span": span(interval), "tier": facts.tier.name}
        yield together(text % said, _failing(facts, facts.checks.get(check)))


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
        return _("the account “%(account)s” cannot make it") % {"account": facts.account}
    due = _due_at(facts, check)
    if due is None:
        return _("not in the live order yet") if facts.order is not None else _("never asked yet")
    text = _("due since %(at)s (%(from_now)s)") if due <= facts.clock else _("due at %(at)s (%(from_now)s)")
    return text % {"at": facts.at(due), "from_now": from_now(due, facts.clock)}


def _due_at(facts: CardFacts, check: CheckType) -> datetime | None:
    """Return when it is due: as the live order says, else as the rows do."""
    if facts.sight is not None:
        return facts.sight.due[check]
    row = facts.checks.get(check)
    return row.due_at if row is not None else None


def _failing(facts: CardFacts, row: CardCheck | None) -> str:
    if row is None or not row.failures or row.last_failed_at is None:
        return ""
    text = _("It failed %(count)s times in a row, last at %(at)s.")
    if row.failures == 1:
        text = _("It failed once, last at %(at)s.")
    return f"{text % {'count': row.failures, 'at': facts.at(row.last_failed_at)}}{sentence(row.error)}"
