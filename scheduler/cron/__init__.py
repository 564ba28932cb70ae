"""When a schedule is due: pure functions of an expression, a zone and an instant.

The rule for changes of the clocks, month ends and the two day fields: docs/daylight-saving.md states it once.
"""

from project.kit.wall_clocks import first_instant, zone_names
from scheduler.cron.bounds import Bounded, Trigger, bounded, unbounded
from scheduler.cron.errors import TriggerError
from scheduler.cron.remarks import remarks, shifted_by_daylight_saving
from scheduler.cron.spans import Missed, fires_at_most_daily, is_fixed_time, missed, stat_date
from scheduler.cron.triggers import Cron, Interval, Once, cron, interval, once
from scheduler.cron.zones import zone

__all__ = [
    "Bounded",
    "Cron",
    "Interval",
    "Missed",
    "Once",
    "Trigger",
    "TriggerError",
    "bounded",
    "cron",
    "fires_at_most_daily",
    "first_instant",
    "interval",
    "is_fixed_time",
    "missed",
    "once",
    "remarks",
    "shifted_by_daylight_saving",
    "stat_date",
    "unbounded",
    "zone",
    "zone_names",
]
