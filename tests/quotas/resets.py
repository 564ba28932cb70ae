"""The resets of a rule, one after the other."""

from datetime import datetime, timedelta

from quotas.periods import ResetRule, period_at


def resets(rule: ResetRule, start: datetime, end: datetime) -> list[datetime]:
    """Return the resets in start <= t < end, each the end of the period before it."""
    found = []
    reset = period_at(rule, start - timedelta(microseconds=1)).end
    while reset < end:
        found.append(reset)
        reset = period_at(rule, reset).end
    return found
