"""Bringing what one has: crontabs become schedules."""
