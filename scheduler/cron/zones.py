"""The zone of a trigger, by its name."""

from functools import cache
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

from project.kit.wall_clocks import suggestion, zone_names
from scheduler.cron.errors import TriggerError


@cache
def zone(name: str) -> ZoneInfo:
    """Return the IANA zone of that name.

    Raises:
        TriggerError: there is no such zone; the message suggests the nearest names.
    """
    if name not in zone_names():
        raise TriggerError(
            "timezone",
            _("The time zone “%(name)s” is not known. %(suggestion)s") % {"name": name, "suggestion": suggestion(name)},
        )
    return ZoneInfo(name)
