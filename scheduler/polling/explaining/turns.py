"""Whose turn it is: a card that is in the live order is in work, waits, or is due later. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from project.kit.spans import span
from quotas.ratelimit import Window
from scheduler.explaining import from_now
from scheduler.explaining.run_facts import silence_of
from scheduler.polling import accounts, policy
from scheduler.polling.explaining.explanation import Reason, Situation
from scheduler.polling.explaining.facts import CardFacts, Order
from scheduler.polling.queue import Sight
from scheduler.polling.states import CheckType


def reasons(facts: CardFacts) -> Iterator[Reason]:
    """Yield where the card stands in the live order; nothing where it is in none."""
    order, sight = facts.order, facts.sight
    if order is None or sight is None or not order.counts.epoch:
        return
    if sight.token:
        yield _claimed(facts, sight)
    elif (since := due_since(sight)) is not None:
        yield from _waiting(facts, order, sight, since)
    else:
        yield _later(facts, sight)


def due_since(sight: Sight) -> datetime | None:
    """Return since when something of the card is due or asked for; None: nothing is."""
    return min((instant for instant in _instants(sight) if instant <= sight.now), default=None)


def first_due(sight: Sight) -> datetime | None:
    """Return when something of the card is due or asked for first; None: never."""
    return min(_instants(sight), default=None)


def _instants(sight: Sight) -> list[datetime]:
    return [instant for instant in (*sight.due.values(), *sight.asked.values()) if instant is not None]


# --- claimed ---------------------------------------------------------------------------------------------------


def _claimed(facts: CardFacts, sight: Sight) -> Reason:
    what, until = in_words(sight.types), sight.lease_end
    again = " It was asked for meanwhile, and is asked once more afterwards." if sight.asked else ""
    if until is None or until <= sight.now:
        return Reason(
            Situation.LEASE_LOST,
            f"It was claimed for {what}, and its lease has ended without a result: its poller died or was cut off."
            f" The next round frees it.{again}",
        )
    if sight.executor:
        return Reason(
            Situation.IN_WORK,
            f"The poller's work {sight.executor[:8]} asks it just now: {what}. Unless it is renewed, its lease ends"
            f" at {facts.at(until)}.{again}",
        )
    return Reason(
        Situation.ON_ITS_WAY,
        f"It is claimed for {what} and waits in the queue {facts.params.queue} for a poller. If its message is lost, it"
        f" is claimed again after {facts.at(until)}.{again}",
    )


# --- due -------------------------------------------------------------------------------------------------------


def _waiting(facts: CardFacts, order: Order, sight: Sight, since: datetime) -> Iterator[Reason]:
    """Yield what makes it wait that is due, its place in the order, and what slows that down."""
    scan, queue = facts.dispatch, facts.params.queue
    if silence := silence_of(scan, facts.now, facts.facts.timezone):
        yield Reason(Situation.NOBODY_DISPATCHES, f"{silence} that claims due cards. Start beat and a worker.")
    if not order.places:
        yield Reason(Situation.NO_POLLER, f"No poller reads the queue {queue}. Start one.")
    places = accounts.borne(facts.params, facts.account.hold_count)
    if order.counts.running >= places:
        yield Reason(Situation.ALL_PLACES_TAKEN, _all_taken(facts, places))
    yield Reason(Situation.WAITS_ITS_TURN, _turn(facts, sight, since))
    if not order.has_calls:
        limits = _in_words(facts.params.rate_windows)
        yield Reason(Situation.LIMIT_REACHED, f"The account's calls of this second are made: its limit is {limits}.")


def _all_taken(facts: CardFacts, places: int) -> str:
    slowed = facts.account.hold_count
    why = f", fewer than usual since the carrier refused calls {slowed} times in a row" if slowed else ""
    return f"As many cards of “{facts.account}” are in work as may be at once: {places:,}{why}."


def _turn(facts: CardFacts, sight: Sight, since: datetime) -> str:
    place = f"It is due since {facts.at(since)} ({from_now(since, sight.now)})"
    if sight.priority is not None and sight.priority <= sight.now:
        return f"{place}, and was asked for, so it goes before those that are only due by schedule."
    if not sight.before:
        return f"{place}, and comes first: the next round claims it."
    takes = policy.full_cycle(sight.before, facts.params.rate_windows)
    at_this_rate = f" At {_in_words(facts.params.rate_windows)} that takes {span(takes)} at least." if takes else ""
    return f"{place}, and {sight.before:,} cards of its account stand before it.{at_this_rate}"


def _later(facts: CardFacts, sight: Sight) -> Reason:
    first = first_due(sight)
    if first is None:
        return Reason(Situation.NEVER_DUE, "Nothing of it is due: it is asked when somebody asks for a check.")
    when = f"{facts.at(first)} ({from_now(first, sight.now)})"
    asked = f" {in_words(sight.asked).capitalize()} was asked for." if sight.asked else ""
    return Reason(Situation.DUE_LATER, f"Nothing of it is due before {when}.{asked}")


# --- words -----------------------------------------------------------------------------------------------------


def in_words(checks: Iterable[CheckType]) -> str:
    """Return checks as people say them: `usage and card status`."""
    names = [str(check.label) for check in checks]
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _in_words(windows: Sequence[Window]) -> str:
    return " and ".join(f"{window.limit:,} in {span(timedelta(seconds=window.seconds))}" for window in windows)
