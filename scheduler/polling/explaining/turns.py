"""Whose turn it is: a card that is in the live order is in work, waits, or is due later. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from project.kit.sentences import enumerated, together
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
    situation, text = _of_the_claim(sight)
    said = {
        "checks": in_words(sight.types),
        "work": sight.executor[:8],
        "queue": facts.params.queue,
        "until": facts.at(sight.lease_end) if sight.lease_end else "",
    }
    again = _("It was asked for meanwhile, and is asked once more afterwards.") if sight.asked else ""
    return Reason(situation, together(text % said, again))


def _of_the_claim(sight: Sight) -> tuple[Situation, str]:
    if sight.lease_end is None or sight.lease_end <= sight.now:
        return Situation.LEASE_LOST, _(
            "It was claimed for %(checks)s, and its lease has ended without a result: its poller died or was cut off. "
            "The next round frees it."
        )
    if sight.executor:
        return Situation.IN_WORK, _(
            "The poller's work %(work)s asks it just now: %(checks)s. Unless it is renewed, its lease ends at "
            "%(until)s."
        )
    return Situation.ON_ITS_WAY, _(
        "It is claimed for %(checks)s and waits in the queue %(queue)s for a poller. If its message is lost, it is "
        "claimed again after %(until)s."
    )


# --- due -------------------------------------------------------------------------------------------------------


def _waiting(facts: CardFacts, order: Order, sight: Sight, since: datetime) -> Iterator[Reason]:
    """Yield what makes it wait that is due, its place in the order, and what slows that down."""
    scan, queue = facts.dispatch, facts.params.queue
    if silence := silence_of(scan, facts.now, facts.facts.timezone):
        text = _("%(silence)s that claims due cards. Start beat and a worker.") % {"silence": silence}
        yield Reason(Situation.NOBODY_DISPATCHES, text)
    if not order.places:
        text = _("No poller reads the queue %(queue)s. Start one.") % {"queue": queue}
        yield Reason(Situation.NO_POLLER, text)
    places = accounts.borne(facts.params, facts.account.hold_count)
    if order.counts.running >= places:
        yield Reason(Situation.ALL_PLACES_TAKEN, _all_taken(facts, places))
    yield Reason(Situation.WAITS_ITS_TURN, _turn(facts, sight, since))
    if not order.has_calls:
        text = _("The account's calls of this second are made: its limit is %(limits)s.")
        yield Reason(Situation.LIMIT_REACHED, text % {"limits": _in_words(facts.params.rate_windows)})


def _all_taken(facts: CardFacts, places: int) -> str:
    slowed = facts.account.hold_count
    text = _("As many cards of “%(account)s” are in work as may be at once: %(places)s.")
    if slowed:
        text = _(
            "As many cards of “%(account)s” are in work as may be at once: %(places)s, fewer than usual since the "
            "carrier refused calls %(slowed)s times in a row."
        )
    return text % {"account": facts.account, "places": f"{places:,}", "slowed": slowed}


def _turn(facts: CardFacts, sight: Sight, since: datetime) -> str:
    said = {"since": facts.at(since), "from_now": from_now(since, sight.now), "before": f"{sight.before:,}"}
    if sight.priority is not None and sight.priority <= sight.now:
        text = _(
            "It is due since %(since)s (%(from_now)s), and was asked for, so it goes before those that are only due by "
            "schedule."
        )
        return text % said
    if not sight.before:
        return _("It is due since %(since)s (%(from_now)s), and comes first: the next round claims it.") % said
    place = _("It is due since %(since)s (%(from_now)s), and %(before)s cards of its account stand before it.") % said
    takes = policy.full_cycle(sight.before, facts.params.rate_windows)
    if not takes:
        return place
    rate = _("At %(limits)s that takes %(span)s at least.")
    return together(place, rate % {"limits": _in_words(facts.params.rate_windows), "span": span(takes)})


def _later(facts: CardFacts, sight: Sight) -> Reason:
    first = first_due(sight)
    if first is None:
        return Reason(Situation.NEVER_DUE, _("Nothing of it is due: it is asked when somebody asks for a check."))
    later = _("Nothing of it is due before %(at)s (%(from_now)s).")
    later %= {"at": facts.at(first), "from_now": from_now(first, sight.now)}
    asked = _("%(checks)s was asked for.") % {"checks": in_words(sight.asked).capitalize()} if sight.asked else ""
    return Reason(Situation.DUE_LATER, together(later, asked))


# --- words -----------------------------------------------------------------------------------------------------


def in_words(checks: Iterable[CheckType]) -> str:
    """Return checks as people say them: `usage and card status`."""
    return enumerated(str(check.label) for check in checks)


def _in_words(windows: Sequence[Window]) -> str:
    text = _("%(limit)s in %(span)s")
    return enumerated(
        text % {"limit": f"{window.limit:,}", "span": span(timedelta(seconds=window.seconds))} for window in windows
    )
