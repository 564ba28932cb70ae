"""Pages of rows that are no domain's own: beat's configuration, the marks of the scans, the audit log."""

import django_celery_beat.admin  # noqa: F401 -- registers its models, which are taken back below
import django_otp.plugins.otp_static.admin
import django_otp.plugins.otp_totp.admin  # noqa: F401 -- the same
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.db.models import QuerySet
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django_celery_beat.models import ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from project import token_admin  # noqa: F401 -- registers its page
from project.kit.admin import HistoryAdmin, seen_at, when
from project.models import ScanMark

# Beat's rows are configuration, written from project/beat.py at its start: they are shown, and what a person
# changed there would be undone. Its triggers mean nothing without a task.
for beat_model in (ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule):
    admin.site.unregister(beat_model)

# Their pages show the keys. A lost device is forgotten by `manage.py reset_two_factor`.
for device_model in (StaticDevice, TOTPDevice):
    admin.site.unregister(device_model)


@admin.register(PeriodicTask)
class PeriodicTaskAdmin(HistoryAdmin):
    """What beat sends, and how often."""

    list_display = ("name", "task", "schedule_text", "enabled", "last_sent", "total_run_count")
    list_select_related = ("interval", "crontab", "solar", "clocked")
    ordering = ("name",)

    @admin.display(description=_("how often"))
    def schedule_text(self, task: PeriodicTask) -> str:
        """How often it is sent."""
        return str(task.scheduler)

    @admin.display(description=_("last sent"))
    def last_sent(self, task: PeriodicTask) -> SafeString:
        """When beat last noted that it sent it."""
        return when(task.last_run_at, seen_at(task))


@admin.register(ScanMark)
class ScanMarkAdmin(HistoryAdmin):
    """When each periodic scan last ran."""

    list_display = ("name", "last", "last_by", "beat_count", "watch_count", "note")
    ordering = ("name",)

    @admin.display(description=_("last"))
    def last(self, mark: ScanMark) -> SafeString:
        """When it last ran."""
        return when(mark.last_at, seen_at(mark))


@admin.register(LogEntry)
class LogEntryAdmin(HistoryAdmin):
    """The audit log: what people did here, and why."""

    list_display = ("done", "user", "object_repr", "content_type", "what")
    list_display_links = None
    list_filter = ("action_flag", "content_type")
    search_fields = ("object_repr", "change_message")
    ordering = ("-id",)

    def for_list(self, rows: QuerySet[LogEntry]) -> QuerySet[LogEntry]:
        """Return the rows with their users."""
        return rows.select_related("user", "content_type")

    @admin.display(description=_("when"))
    def done(self, entry: LogEntry) -> SafeString:
        """When it was done."""
        return when(entry.action_time, seen_at(entry))

    @admin.display(description=_("what and why"))
    def what(self, entry: LogEntry) -> str:
        """What was done, with the reason that was given."""
        return entry.get_change_message() or str(entry.get_action_flag_display())
