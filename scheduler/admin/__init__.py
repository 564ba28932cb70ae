"""The scheduler's pages in the control panel. Every action writes rows; nothing here talks to the broker."""

from scheduler.admin import attempts, events, fires, runs, schedules

__all__ = ["attempts", "events", "fires", "runs", "schedules"]
