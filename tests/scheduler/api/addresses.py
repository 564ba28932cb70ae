"""Every address of the schedules' and runs' API: what is sent to it, and who may."""

from typing import Any

EVERYBODY, OPERATORS, ADMINISTRATORS = (
    {"viewer", "operator", "administrator"},
    {"operator", "administrator"},
    {"administrator"},
)

REASON = {"reason": "Asked for by the finance department"}
RANGE = {"first_day": "2026-05-01", "last_day": "2026-05-02"}
NIGHTLY = {"name": "new", "job": "test.noop", "cron": "0 3 * * *"}
HOLIDAYS = {"calendar": "new", "country": "DE", "first_year": 2026}

TABLE: dict[tuple[str, str], tuple[Any, set[str]]] = {
    ("get", "approvals/"): (None, EVERYBODY),
    ("get", "approvals/{approval}/"): (None, EVERYBODY),
    ("get", "attempts/"): (None, EVERYBODY),
    ("get", "attempts/{attempt}/"): (None, EVERYBODY),
    ("get", "backfills/"): (None, EVERYBODY),
    ("get", "backfills/{backfill}/"): (None, EVERYBODY),
    ("post", "backfills/{backfill}/cancel/"): ({}, OPERATORS),
    ("get", "calendar-days/"): (None, EVERYBODY),
    ("post", "calendar-days/"): ({"calendar": "holidays", "date": "2026-12-24"}, ADMINISTRATORS),
    ("get", "calendar-days/{day}/"): (None, EVERYBODY),
    ("patch", "calendar-days/{day}/"): ({"title": "Eve"}, ADMINISTRATORS),
    ("delete", "calendar-days/{day}/"): (None, ADMINISTRATORS),
    ("get", "calendars/"): (None, EVERYBODY),
    ("post", "calendars/"): ({"name": "new"}, ADMINISTRATORS),
    ("post", "calendars/import/"): (HOLIDAYS, ADMINISTRATORS),
    ("get", "calendars/{calendar}/"): (None, EVERYBODY),
    ("patch", "calendars/{calendar}/"): ({"description": "Bank holidays"}, ADMINISTRATORS),
    ("delete", "calendars/{calendar}/"): (None, ADMINISTRATORS),
    ("get", "events/"): (None, EVERYBODY),
    ("get", "events/{event}/"): (None, EVERYBODY),
    ("get", "fires/"): (None, EVERYBODY),
    ("get", "fires/{fire}/"): (None, EVERYBODY),
    ("get", "jobs/"): (None, EVERYBODY),
    ("get", "jobs/test.noop/"): (None, EVERYBODY),
    ("get", "runs/"): (None, EVERYBODY),
    ("post", "runs/"): ({"job": "test.noop"}, ADMINISTRATORS),
    ("get", "runs/{ended}/"): (None, EVERYBODY),
    ("get", "runs/{ended}/attempts/"): (None, EVERYBODY),
    ("get", "runs/{ended}/events/"): (None, EVERYBODY),
    ("post", "runs/{asking}/approve/"): ({}, OPERATORS),
    ("post", "runs/{asking}/reject/"): (REASON, OPERATORS),
    ("post", "runs/{paused}/resume/"): ({}, OPERATORS),
    ("post", "runs/{suspended}/go-on/"): ({}, OPERATORS),
    ("post", "runs/{suspended}/give-up/"): (REASON, OPERATORS),
    ("post", "runs/{failed}/retry/"): ({}, OPERATORS),
    ("post", "runs/{failed}/put-off/"): ({"until": "{tomorrow}"}, OPERATORS),
    ("post", "runs/{ended}/again-from-nothing/"): ({}, OPERATORS),
    ("post", "runs/{ended}/again-from-progress/"): ({}, OPERATORS),
    ("post", "runs/{failed}/cancel/"): ({}, OPERATORS),
    ("get", "schedules/"): (None, EVERYBODY),
    ("post", "schedules/"): (NIGHTLY, ADMINISTRATORS),
    ("get", "schedules/preview/?cron=@daily"): (None, EVERYBODY),
    ("get", "schedules/{schedule}/"): (None, EVERYBODY),
    ("patch", "schedules/{schedule}/"): ({"priority": 1}, ADMINISTRATORS),
    ("put", "schedules/{schedule}/"): (NIGHTLY, ADMINISTRATORS),
    ("delete", "schedules/{unused}/"): (None, ADMINISTRATORS),
    ("get", "schedules/{schedule}/preview/"): (None, EVERYBODY),
    ("get", "schedules/{schedule}/why/"): (None, EVERYBODY),
    ("post", "schedules/{schedule}/backfill/"): (RANGE, OPERATORS),
    ("post", "schedules/{schedule}/pause/"): (REASON, OPERATORS),
    ("post", "schedules/{off}/enable/"): ({}, OPERATORS),
    ("post", "schedules/{schedule}/run-now/"): ({}, OPERATORS),
}
