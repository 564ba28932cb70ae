"""Bringing what one has: crontabs and the rows of django-celery-beat become schedules, holidays calendars."""
