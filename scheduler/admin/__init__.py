"""The scheduler's pages in the control panel. Every action writes rows; nothing here talks to the broker."""

from scheduler.admin import approvals, attempts, backfills, calendars, events, fires, runs, schedules

__all__ = ["approvals", "attempts", "backfills", "calendars", "events", "fires", "runs", "schedules"]
