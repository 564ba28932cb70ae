"""Lengths of time for people."""

from datetime import timedelta

from django.utils.translation import gettext as _


def span(length: timedelta, detail_below: int = 10) -> str:
    """Return the length in its largest units: `40 s`, `2 h 5 min`, `12 d`.

    Args:
        detail_below: the second unit is given while there are fewer than this of the first.
    """
    seconds = length.total_seconds()
    if 0.05 <= seconds < 10 and not seconds.is_integer():
        return _("%(count)s s") % {"count": f"{seconds:.1f}"}
    amounts = _amounts(round(seconds))
    largest, unit = amounts[0]
    if len(amounts) == 1 or largest >= detail_below:
        return unit % {"count": largest}
    following, small_unit = amounts[1]
    return (
        f"{unit % {'count': largest}} {small_unit % {'count': following}}" if following else unit % {"count": largest}
    )


def _amounts(seconds: int) -> list[tuple[int, str]]:
    """Return the amounts with their units, from the largest that is there down."""
    amounts = [
        (seconds // 86_400, _("%(count)s d")),
        (seconds // 3600 % 24, _("%(count)s h")),
        (seconds // 60 % 60, _("%(count)s min")),
        (seconds % 60, _("%(count)s s")),
    ]
    first = next((position for position, (amount, _unit) in enumerate(amounts) if amount), len(amounts) - 1)
    return amounts[first:]
