"""Who looks at the scheduler's pages for its tests, and the addresses of these."""

from typing import Any

from django.test import Client

from tests.panel import Desk, colleague

_VIEWED = ("schedule", "taskrun", "fire", "attempt", "runevent", "approval", "backfill", "calendar", "calendarday")
VIEWS = tuple(f"scheduler.view_{model}" for model in _VIEWED)

DESK = Desk("scheduler", _VIEWED)
list_of, page_of, confirm = DESK.list_of, DESK.page_of, DESK.confirm


def person(*permissions: str, **options: Any) -> Client:
    """Log in somebody of the staff with these permissions (`app.codename`), who may also look at everything."""
    return colleague(*{*permissions, *VIEWS}, **options)


def action_on(row: Any, name: str) -> str:
    """Return the address of an action on a row."""
    return page_of(row, "action", name)
