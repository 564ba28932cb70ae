"""Instants for people: relative in the text, absolute on hover, by the viewer's clocks."""

from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from project.kit.spans import span

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
