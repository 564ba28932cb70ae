"""Says of a row of django-celery-beat which schedule it becomes, or why it becomes none. Nothing is written.

Beat's habits, as django-celery-beat 2.9 has them: a row that has several schedules runs by its interval, else crontab,
else solar event; a row that never ran counts from its start or its last change; a one-off row is disabled once it has
run, and its count set back to nought.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django_celery_beat.models import PeriodicTask

from scheduler import cron
from scheduler.cron import Cron, Interval, Once
from scheduler.importing.celery_crontab import CeleryField, NoExpression, expression
from scheduler.importing.items import Item, Outcome

DISABLED = "It was disabled in beat when it was imported."

_SECOND = timedelta(seconds=1)
_CRONTAB_FIELDS = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
# Beat writes down when a row ran every three minutes only; what it owes for longer it has really left out.
_BEAT_WRITES_EVERY = timedelta(minutes=5)


class NotImported(Exception):
    """A row becomes no schedule; the message says why, and what to do about it."""

    def __init__(self, reason: str, outcome: Outcome = Outcome.LEFT) -> None:
        super().__init__(reason)
        self.reason = reason
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What there is here for the rows.

    Attributes:
        tasks: the Celery tasks that Tideline's workers can execute.
        scans: those of them that Tideline's own beat asks for.
        elsewhere: parameters of the job `celery` that lead to the other application; none if it is not known.
        zone: of the data days of rows that name no zone.
    """

    tasks: frozenset[str]
    scans: frozenset[str] = frozenset()
    elsewhere: dict[str, Any] = field(default_factory=dict)
    zone: str = "UTC"


def text_of(row: PeriodicTask) -> str:
    """Return the row in one line."""
    return " ".join(f"{row}, {row.task}".split())


def schedule_of(row: PeriodicTask, here: Surroundings, *, origin: str, now: datetime) -> Item:
    """Return the row as a schedule to be.

    Raises:
        NotImported: it becomes none.
    """
    _leave_what_is_not_ours(row, here)
    _leave_what_is_over(row, now)
    try:
        trigger = _trigger(row, now)
    except cron.TriggerError as error:
        raise NotImported(error.message, Outcome.REFUSED) from error
    return Item(
        number=row.pk,
        text=text_of(row),
        outcome=Outcome.NEW,
        notes=tuple(_notes(row, here, trigger, now)),
        name=row.name,
        origin=origin,
        job="celery",
        trigger=trigger,
        params=_params(row, here),
        options=_options(row, here, trigger, now),
        runs_there=row.enabled,
    )


# --- what stays where it is --------------------------------------------------------------------------------------


def _leave_what_is_not_ours(row: PeriodicTask, here: Surroundings) -> None:
    if row.task in here.scans:
        raise NotImported("It is one of Tideline's own scans, which beat is to run.")
    if row.task.startswith("celery."):
        raise NotImported("It is Celery's own housekeeping for its application: leave it to beat.")
    if row.task not in here.tasks and not here.elsewhere:
        raise NotImported(
            f"No task “{row.task}” is registered here. Name its Django app in TIDELINE_APPS or its module in "
            "TIDELINE_JOBS, or say with --broker-url where its own workers are, and import again."
        )


def _leave_what_is_over(row: PeriodicTask, now: datetime) -> None:
    if row.expires is not None and row.expires <= now:
        raise NotImported(f"It expired at {_shown(row.expires)}.")
    if row.one_off and row.enabled and row.total_run_count > 0:
        raise NotImported("It is one-off, and has run.")
    if _runs_by_clock(row):
        _leave_if_its_time_has_passed(row, now)
    elif row.one_off and not row.enabled:
        raise NotImported(
            "It is one-off and disabled, as beat leaves such a row when it has run. If it has not, enable it in beat "
            "and import again."
        )


def _runs_by_clock(row: PeriodicTask) -> bool:
    return row.scheduler is not None and row.scheduler == row.clocked


def _leave_if_its_time_has_passed(row: PeriodicTask, now: datetime) -> None:
    if row.clocked.clocked_time > now:
        return
    sentence = f"Its time, {_shown(row.clocked.clocked_time)}, has passed"
    if row.enabled:
        raise NotImported(f"{sentence}, and beat has not run it yet. Nothing that is past is made up here.")
    raise NotImported(f"{sentence}.")


# --- when --------------------------------------------------------------------------------------------------------


def _trigger(row: PeriodicTask, now: datetime) -> Cron | Interval | Once:
    trigger = _repeating(row, now)
    if not row.one_off:
        return trigger
    upcoming = cron.bounded(trigger, *_bounds(row, now)).next_after(now)
    if upcoming is None:
        raise NotImported("It is one-off, and has no due time left before it expires.")
    return cron.once(upcoming)


def _repeating(row: PeriodicTask, now: datetime) -> Cron | Interval | Once:
    if row.interval is not None:
        return _interval(row, now)
    if row.crontab is not None:
        return _crontab(row.crontab)
    if row.solar is not None:
        raise NotImported(f"It follows the sun ({row.solar}), and no schedule here does: leave it in beat.")
    if row.clocked is not None:
        return cron.once(row.clocked.clocked_time)
    raise NotImported("It has no schedule, so beat never runs it.", Outcome.UNREADABLE)


def _interval(row: PeriodicTask, now: datetime) -> Interval:
    every, period = row.interval.every, row.interval.period
    try:
        seconds, rest = divmod(timedelta(**{period: every}), _SECOND)
    except (OverflowError, TypeError) as error:
        raise NotImported(f"Its interval, every {every} {period}, cannot be read.", Outcome.UNREADABLE) from error
    if rest:
        raise NotImported(
            f"Its interval, every {every} {period}, is no whole number of seconds, as intervals here are. Change it "
            "in beat and import again, or leave it there.",
            Outcome.REFUSED,
        )
    return cron.interval(seconds, _anchor(row, now))


def _anchor(row: PeriodicTask, now: datetime) -> datetime:
    """Return an instant that keeps the interval's phase; what beat owes since then is not made up."""
    if row.start_time is not None and row.start_time > now:
        return row.start_time  # type: ignore[no-any-return]
    counted_from: datetime = row.last_run_at or row.start_time or row.date_changed
    return min(counted_from, now).replace(microsecond=0)  # it lies ahead where beat's clock was set back


def _crontab(crontab: Any) -> Cron:
    try:
        read = crontab.schedule
    except Exception as error:  # Celery's ParseException is of no other kind, and Celery is not imported here
        raise NotImported(_cannot_be_read(crontab, error), Outcome.UNREADABLE) from error
    fields = (CeleryField(getattr(crontab, name), frozenset(getattr(read, name))) for name in _CRONTAB_FIELDS)
    try:
        return cron.cron(expression(*fields), str(crontab.timezone))
    except NoExpression as error:
        raise NotImported(str(error)) from error


def _cannot_be_read(crontab: Any, error: Exception) -> str:
    sunday = " Celery's Sunday is 0, not 7." if "7" in crontab.day_of_week else ""
    said = str(error).strip().rstrip(".")
    return f"Celery cannot read its crontab, so beat never runs it: {said}.{sunday} Correct it and import again."


def _bounds(row: PeriodicTask, now: datetime) -> tuple[datetime | None, datetime | None]:
    """Return the first and the last instant at which it may fire; beat does not fire at the very end."""
    starts_at = row.start_time if row.start_time is not None and row.start_time > now else None
    return starts_at, row.expires - timedelta.resolution if row.expires is not None else None


# --- what --------------------------------------------------------------------------------------------------------


def _params(row: PeriodicTask, here: Surroundings) -> dict[str, Any]:
    """Return the parameters of the job `celery`."""
    called = {"args": _json(row, "args", "[]"), "kwargs": _json(row, "kwargs", "{}")}
    params = {"task": row.task, **{name: value for name, value in called.items() if value not in ([], {})}}
    if _is_sent(row, here):
        return params | _route(row, here)
    if '"__type__"' in f"{row.args}{row.kwargs}":
        raise NotImported(
            "Its args or kwargs hold a date, a UUID or the like in Celery's own notation, and the task would get that "
            "as it is written. Give it as plain JSON, and import again.",
            Outcome.REFUSED,
        )
    return params


def _is_sent(row: PeriodicTask, here: Surroundings) -> bool:
    """Tell whether the task goes to the other application instead of being executed here."""
    return row.task not in here.tasks


def _json(row: PeriodicTask, name: str, empty: str) -> Any:
    text = getattr(row, name) or empty
    try:
        return json.loads(text, parse_constant=_not_a_number)
    except (ValueError, RecursionError) as error:
        raise NotImported(f"Its {name} cannot be read as JSON: {text[:80]}", Outcome.UNREADABLE) from error


def _not_a_number(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON.")


def _route(row: PeriodicTask, here: Surroundings) -> dict[str, Any]:
    exchange = {"exchange": row.exchange, "routing_key": row.routing_key}
    own = {"queue": row.queue, **exchange, "priority": row.priority, "expires_seconds": row.expire_seconds or None}
    usual = {name: value for name, value in here.elsewhere.items() if name != "queue" or not any(exchange.values())}
    return usual | {name: value for name, value in own.items() if value not in (None, "")}


def _options(row: PeriodicTask, here: Surroundings, trigger: Cron | Interval | Once, now: datetime) -> dict[str, Any]:
    """Return the further fields of the schedule."""
    options: dict[str, Any] = {
        "description": f"{row.description}\n\nImported from django-celery-beat: {text_of(row)}".strip(),
        "timezone": str(row.crontab.timezone) if row.crontab is not None else here.zone,
    }
    if not isinstance(trigger, Once):
        options["starts_at"], options["ends_at"] = _bounds(row, now)
    if not row.enabled:
        options |= {"enabled": False, "pause_reason": DISABLED}
    return options


# --- what is different here --------------------------------------------------------------------------------------


def _notes(row: PeriodicTask, here: Surroundings, trigger: Cron | Interval | Once, now: datetime) -> Iterator[str]:
    if without_meaning := list(_without_meaning(row, here)):
        yield f"Without a meaning here: {', '.join(without_meaning)}."
    if isinstance(trigger, Cron) and "#" in trigger.expression:
        yield f"Both day fields must match in Celery; here that is {trigger.expression.split()[-1]}."
    if row.enabled and (owed := _owed(row, trigger, now)):
        yield f"Beat has not run what was due at {_shown(owed)}; that is not made up."


def _without_meaning(row: PeriodicTask, here: Surroundings) -> Iterator[str]:
    if not _is_sent(row, here):
        for name in ("queue", "exchange", "routing_key", "priority", "expire_seconds"):
            if getattr(row, name) not in (None, ""):
                yield f"{name}={getattr(row, name)}"
    if (row.headers or "{}").strip() != "{}":
        yield f"headers={row.headers}"


def _owed(row: PeriodicTask, trigger: Cron | Interval | Once, now: datetime) -> datetime | None:
    """Return the last due time that beat let pass."""
    if row.last_run_at is None or isinstance(trigger, Once):
        return None
    latest = trigger.latest_until(now - _BEAT_WRITES_EVERY)
    is_owed = latest is not None and latest > row.last_run_at + _SECOND
    return latest if is_owed else None


def _shown(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M %Z}"
