"""How often which card is asked what: pure, from the tiers, the card's facts and the instant.

Every due time is spread by a number that follows from the card, so that it is the same in each process, and no two
fleets come at one second. All checks of a card share it: what is due equally often is due together, for one claim.
"""

from calendar import timegm
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from math import ceil

from quotas.periods import Preset, ResetRule, period_at
from quotas.ratelimit import Window
from scheduler.polling.states import CheckType

# The last usage check of a billing cycle comes this long before its end at the earliest, and at the latest.
RESET_LEAD, RESET_MARGIN = timedelta(hours=2), timedelta(minutes=15)
# By so much of an interval the next check comes earlier or later, so that what was settled together parts.
JITTER_PERCENT = 1
BACKOFF_JITTER_PERCENT = 10
DAY_SECONDS = 86_400

_MICROSECOND = timedelta(microseconds=1)
# 2^64 divided by the golden ratio: multiples of it fall more evenly than any random numbers.
_GOLDEN = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Facts:
    """What decides how often a card is asked.

    Attributes:
        reset_day: 1 to 31, of the billing cycle; in a shorter month its last day.
        timezone: the zone by whose clocks that day begins.
    """

    state: str
    real_name_state: str
    package: str
    used_bytes: int | None
    allowance_bytes: int | None
    reset_day: int
    timezone: str


@dataclass(frozen=True, slots=True)
class Tier:
    """Which cards are checked how often; an empty condition matches any card.

    Attributes:
        seconds: between two checks, by their type; a type that is not in it is not checked.
    """

    name: str
    seconds: Mapping[CheckType, int]
    states: frozenset[str] = frozenset()
    real_name_states: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()
    usage_from_percent: int | None = None
    usage_below_percent: int | None = None

    def matches(self, facts: Facts) -> bool:
        """Tell whether it is for such a card; where a share of usage is asked for and none is known, it is not."""
        return (
            (not self.states or facts.state in self.states)
            and (not self.real_name_states or facts.real_name_state in self.real_name_states)
            and (not self.packages or facts.package in self.packages)
            and self._matches_usage(facts.used_bytes, facts.allowance_bytes)
        )

    def _matches_usage(self, used: int | None, allowance: int | None) -> bool:
        if self.usage_from_percent is None and self.usage_below_percent is None:
            return True
        if used is None or allowance is None:
            return False
        # Compared as whole numbers; of nothing everything is used.
        above = self.usage_from_percent is None or used * 100 >= self.usage_from_percent * allowance
        return above and (self.usage_below_percent is None or used * 100 < self.usage_below_percent * allowance)


# --- when a check is due ---------------------------------------------------------------------------------------


def tier_of(tiers: Iterable[Tier], facts: Facts) -> Tier | None:
    """Return the first tier that matches the card; None: it is not polled."""
    for tier in tiers:
        if tier.matches(facts):
            return tier
    return None


def interval_of(tier: Tier | None, check: CheckType) -> timedelta | None:
    """Return how long lies between two such checks; None: there are none."""
    seconds = None if tier is None else tier.seconds.get(check)
    return None if seconds is None else timedelta(seconds=seconds)


def next_due(check: CheckType, facts: Facts, tiers: Iterable[Tier], now: datetime, card_id: int) -> datetime | None:
    """Return when a check that was answered now is due again, later than now; None: not at all."""
    interval = interval_of(tier_of(tiers, facts), check)
    if interval is None:
        return None
    return _no_later_than_reset(
        check, now + interval + _jitter(interval, JITTER_PERCENT, card_id, now), facts, now, card_id
    )


def first_due(check: CheckType, facts: Facts, tiers: Iterable[Tier], now: datetime, card_id: int) -> datetime | None:
    """Return when a check of which nothing is known is due: within its interval, at the card's own phase of it.

    The phase is fixed to the clock, not to now: whoever asks again finds it again, however often all is rebuilt.
    """
    interval = interval_of(tier_of(tiers, facts), check)
    if interval is None:
        return None
    until_phase = (_spread(interval, card_id) - _since_epoch(now)) % interval
    return _no_later_than_reset(check, now + (until_phase or interval), facts, now, card_id)


def kept_due(
    check: CheckType,
    facts: Facts,
    tiers: Iterable[Tier],
    now: datetime,
    card_id: int,
    known: datetime | None,
    failures: int,
) -> datetime | None:
    """Return when a check is due of which the rows know when it was due: then, unless its tier says otherwise now.

    Args:
        known: when the rows say it is due; it may be past.
        failures: in a row; where there are any, the back-off has said when.
    """
    interval = interval_of(tier_of(tiers, facts), check)
    if interval is None or known is None or (not failures and known > now + interval + _most(interval, JITTER_PERCENT)):
        return first_due(check, facts, tiers, now, card_id)
    return known if failures else _no_later_than_reset(check, known, facts, now, card_id)


def moved_due(
    before: Facts, after: Facts, tiers: Sequence[Tier], now: datetime, card_id: int
) -> dict[CheckType, datetime | None]:
    """Return when those checks are due whose interval is another one since more is known of the card; None: no more.

    Args:
        before, after: what was known, and what is.
    """
    former, latter = tier_of(tiers, before), tier_of(tiers, after)
    if former is latter:
        return {}
    return {
        check: first_due(check, after, tiers, now, card_id)
        for check in CheckType
        if interval_of(former, check) != interval_of(latter, check)
    }


def resumed_due(
    check: CheckType, facts: Facts, tiers: Iterable[Tier], now: datetime, card_id: int, within: timedelta
) -> datetime | None:
    """Return when a card that came or came back is checked: soon, spread over a span so that no herd comes.

    Args:
        within: the span; an interval that is shorter counts instead.
    """
    interval = interval_of(tier_of(tiers, facts), check)
    return None if interval is None else now + _spread(min(within, interval), card_id)


def backoff(sequence: Sequence[int], failures: int, now: datetime, card_id: int) -> datetime:
    """Return when a check that failed is tried again, always later than now.

    Args:
        sequence: seconds after the first failure, the second and so on; the last holds for all further ones.
        failures: in a row, this one included, from 1.
    """
    pause = timedelta(seconds=sequence[min(failures, len(sequence)) - 1])
    return now + max(pause + _jitter(pause, BACKOFF_JITTER_PERCENT, card_id, now), _MICROSECOND)


def _no_later_than_reset(check: CheckType, due: datetime, facts: Facts, now: datetime, card_id: int) -> datetime:
    """Return the instant, for usage none after the card's last chance in the billing cycle that is still to come."""
    return min(due, last_usage_check(facts, now, card_id)) if check == CheckType.USAGE else due


def last_usage_check(facts: Facts, now: datetime, card_id: int) -> datetime:
    """Return when usage is checked shortly before a billing cycle ends: the first such instant after now."""
    rule = ResetRule(Preset.MONTH, facts.timezone, day=facts.reset_day)
    ahead = RESET_LEAD - _spread(RESET_LEAD - RESET_MARGIN, card_id)
    reset = period_at(rule, now).end
    if reset - ahead <= now:
        reset = period_at(rule, reset).end
    return reset - ahead


# --- how it is spread ------------------------------------------------------------------------------------------


def _spread(span: timedelta, card_id: int, salt: int = 0) -> timedelta:
    """Return the card's place in a span, from 0 to just below it; neighbours in number lie far from each other."""
    place = (card_id * _GOLDEN + salt * _GOLDEN * _GOLDEN) & _MASK
    return timedelta(microseconds=(span // _MICROSECOND) * place >> 64)


def _jitter(span: timedelta, percent: int, card_id: int, now: datetime) -> timedelta:
    """Return up to so much of a span, to either side: another at each instant, the same for all checks of a card."""
    most = _most(span, percent)
    return _spread(2 * most, card_id, _since_epoch(now) // _MICROSECOND) - most


def _most(span: timedelta, percent: int) -> timedelta:
    return span * percent // 100


def _since_epoch(instant: datetime) -> timedelta:
    return timedelta(seconds=timegm(instant.utctimetuple()), microseconds=instant.microsecond)


# --- what accounts bear ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Demand:
    """What the tiers ask for, beside what the rate windows allow.

    Attributes:
        calls_a_day: at the tiers' intervals, rounded up.
        possible_a_day: None: no window limits them.
    """

    calls_a_day: int
    possible_a_day: int | None

    @property
    def feasible(self) -> bool:
        """Whether every check can be made as often as its tier says."""
        return self.possible_a_day is None or self.calls_a_day <= self.possible_a_day


def demand(cards: Iterable[tuple[Tier, int]], windows: Sequence[Window]) -> Demand:
    """Return what so many cards of each tier need in a day."""
    calls = sum(
        (Fraction(count * DAY_SECONDS, seconds) for tier, count in cards for seconds in tier.seconds.values()),
        Fraction(0),
    )
    slowest = _slowest(windows)
    return Demand(ceil(calls), int(DAY_SECONDS / slowest) if slowest else None)


def full_cycle(calls: int, windows: Sequence[Window]) -> timedelta | None:
    """Return how long so many calls take, one after another at the full rate; None: no window limits them."""
    slowest = _slowest(windows)
    return timedelta(microseconds=ceil(calls * slowest * 1_000_000)) if slowest else None


def _slowest(windows: Sequence[Window]) -> Fraction:
    """Return the seconds that a call takes in the long run; 0: none."""
    return max((Fraction(window.length, window.limit * 1_000_000) for window in windows), default=Fraction(0))


def tightened(limits: Mapping[int, int], capacity: int) -> dict[int, int]:
    """Return limits that together stay within what there is, if they do not: who wants little gets it, the rest alike.

    Each keeps at least one, so that none stands still; so they may exceed a capacity of less than one for each.

    Args:
        limits: by account, each from 1.
        capacity: how many there may be over all accounts.
    """
    granted: dict[int, int] = {}
    left = capacity
    for number, account in enumerate(sorted(limits, key=lambda account: (limits[account], account))):
        granted[account] = min(limits[account], max(1, left // (len(limits) - number)))
        left -= granted[account]
    return granted
