"""Instants and spans for people: relative in the text, absolute on hover, by the viewer's clocks."""

from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

# What is shown where there is nothing to show.
DASH = SafeString("–")

_SECOND, _MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def when(instant: datetime | None, now: datetime) -> SafeString:
    """Return the instant relative to now (`in 5 min`), with the absolute one on hover; a dash where there is none."""
    if instant is None:
        return DASH
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', instant.isoformat(), absolute(instant), relative(instant, now)
    )


def absolute(instant: datetime) -> str:
    """Return the instant as the viewer's clocks show it, and in which zone that is."""
    return f"{timezone.localtime(instant):%Y-%m-%d %H:%M:%S} {timezone.get_current_timezone_name()}"


def relative(instant: datetime, now: datetime) -> str:
    """Return how far the instant is from now, in whole minutes or seconds: `in 5 min`, `2 h 5 min ago`, `now`."""
    distance = abs(instant - now)
    if distance < _SECOND:
        return _("now")
    step = _MINUTE if distance >= _MINUTE else _SECOND
    length = span(distance // step * step, detail_below=3)
    return _("in %(span)s") % {"span": length} if instant > now else _("%(span)s ago") % {"span": length}


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
