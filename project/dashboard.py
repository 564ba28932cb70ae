"""The home page: what a person on duty looks at first. Every number leads to the list behind it.

It asks a fixed number of questions whatever the rows, and counts no further than CAP: a number that large is read as
"many" anyway.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Count, F, Model, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from alerts.admin import questions as alert_questions
from alerts.models import Alert
from project import polling_panel, system_panel, timeline
from project.first_steps import steps_for
from project.health import ScanState, scan_states
from project.kit.admin import badge, row_link, short, when
from project.kit.clock import database_now
from quotas.admin import cells as quota_cells
from quotas.admin import questions as quota_questions
from quotas.models import Quota
from quotas.outlook import next_reset
from quotas.waiting import count_waiting
from scheduler.admin import cells, questions, triggers
from scheduler.models import Schedule, TaskRun
from scheduler.states import COLOURS, RunState

CAP = 1000
LINES = 6

Condition = Callable[[datetime], Q]
Viewer = User | AnonymousUser


@dataclass(frozen=True, slots=True)
class Tile:
    """A number, what it counts, and the list behind it; `capped`: nobody counted further than CAP."""

    label: str | Promise
    count: int
    url: str
    colour: str
    capped: bool = False

    @property
    def shown(self) -> str:
        """The number, or that it is many."""
        return f"{CAP:,}+" if self.capped and self.count > CAP else f"{self.count:,}"


# What needs a person, or will soon: label, condition, name of the list's question, colour when there are any.
RUN_TROUBLE: tuple[tuple[str | Promise, Condition, str, str], ...] = (
    (_("failed in 24 h"), questions.has_failed_lately, "failed-24h", "red"),
    (_("stuck"), questions.is_stuck, "stuck", "red"),
    (_("overdue"), questions.is_overdue, "overdue", "red"),
    (_("suspended"), questions.is_suspended, "suspended", "amber"),
    (_("paused, held"), questions.is_held, "held", "amber"),
    (_("waiting for approval"), questions.waits_for_approval, "approval", "amber"),
    (_("waiting for a retry"), questions.waits_for_retry, "retry", "amber"),
)
SCHEDULE_STANDING: tuple[tuple[str | Promise, Condition, str, str], ...] = (
    (_("broken"), questions.is_broken, "broken", "red"),
    (_("overdue"), questions.is_late, "overdue", "red"),
    (_("paused"), questions.is_paused, "paused", "amber"),
)

QUOTA_STANDING: tuple[tuple[str | Promise, Condition, str, str], ...] = (
    (_("insufficient"), quota_questions.is_insufficient, "insufficient", "amber"),
    (_("waited for"), quota_questions.is_waited_for, "waited-for", "violet"),
    (_("refused by the provider"), quota_questions.is_refused, "refused", "red"),
    (_("provider unverified"), quota_questions.is_unverified, "unverified", "violet"),
    (_("80 % used"), quota_questions.is_nearly_used, "nearly-used", "amber"),
)

ALERT_TROUBLE: tuple[tuple[str | Promise, Condition, str, str], ...] = (
    (_("open"), alert_questions.is_open, "open", "red"),
    (_("critical"), alert_questions.is_critical, "critical", "red"),
    (_("acknowledged"), alert_questions.is_acknowledged, "acknowledged", "violet"),
)


def home(request: HttpRequest) -> dict[str, Any]:
    """Return what the home page shows to this user."""
    now = database_now()
    context = _system(now)
    for permissions, part in PARTS:
        if request.user.has_perms(permissions):
            context |= part(now, request.user)
    return context


def _system(now: datetime) -> dict[str, Any]:
    scans = scan_states(now)
    return {
        "now": now,
        "system": system_panel.lines(scans, now),
        "scans": [_scan_line(state, now) for state in scans],
        "missing_scans": [_scan_line(state, now) for state in scans if not state.recent],
    }


def _runs(now: datetime, user: Viewer) -> dict[str, Any]:
    return {
        "trouble": _trouble(TaskRun, RUN_TROUBLE, now),
        "unfinished": _unfinished(now),
        "done": _tile(TaskRun, _("done in 24 h"), questions.was_done_lately, "done-24h", "green", now),
        "failures": [_failure_line(run, now) for run in _latest_failures(now)],
    }


def _alerts(now: datetime, user: Viewer) -> dict[str, Any]:
    return {"alerts": _trouble(Alert, ALERT_TROUBLE, now), "inbox": bool(settings.TIDELINE_INBOX_URL)}


def _schedules(now: datetime, user: Viewer) -> dict[str, Any]:
    tiles = _schedule_tiles(now)
    return {
        "schedules": tiles,
        "first_steps": [] if tiles[0].count else steps_for(user),
        "upcoming": [_upcoming_line(schedule, now) for schedule in _next_schedules()],
    }


def _pictures(now: datetime, user: Viewer) -> dict[str, Any]:
    return timeline.pictures(now, with_quotas=user.has_perm("quotas.view_quota"))


def _quotas(now: datetime, user: Viewer) -> dict[str, Any]:
    return {"quotas": _quota_tiles(now), "short_quotas": _short_quota_lines(now)}


def _polling(now: datetime, user: Viewer) -> dict[str, Any]:
    return {"polling": polling_panel.lines(now), "cutover": polling_panel.cutover(now)}


# What the home page shows, to whom who has these permissions.
PARTS: tuple[tuple[tuple[str, ...], Callable[[datetime, Viewer], dict[str, Any]]], ...] = (
    (("scheduler.view_taskrun",), _runs),
    (("alerts.view_alert",), _alerts),
    (("scheduler.view_schedule",), _schedules),
    (("scheduler.view_schedule", "scheduler.view_taskrun", "scheduler.view_fire"), _pictures),
    (("quotas.view_quota",), _quotas),
    (("polling.view_carrieraccount",), _polling),
)


# --- runs --------------------------------------------------------------------------------------------------------


def _unfinished(now: datetime) -> list[Tile]:
    """Count the unfinished runs by state, from the indexes that hold only those."""
    rows = TaskRun.objects.filter(questions.is_unfinished(now)).values_list("state").annotate(count=Count("id"))
    counts = dict(rows.order_by())
    return [
        Tile(state.label, counts[state], _list_url(TaskRun, f"show=unfinished&state__exact={state}"), COLOURS[state])
        for state in RunState
        if state in counts
    ]


def _latest_failures(now: datetime) -> QuerySet[TaskRun]:
    failed = TaskRun.objects.filter(questions.has_failed_lately(now)).order_by("-finished_at")
    return failed.only("id", "name", "stat_date", "reason", "finished_at")[:LINES]


def _failure_line(run: TaskRun, now: datetime) -> dict[str, SafeString]:
    return {
        "run": cells.run_link(run.pk, f"#{run.pk} {run.name}"),
        "reason": short(run.reason, 120),
        "at": when(run.finished_at, now),
    }


# --- schedules -----------------------------------------------------------------------------------------------------


def _schedule_tiles(now: datetime) -> list[Tile]:
    return _standing_tiles(Schedule, _("schedules"), SCHEDULE_STANDING, now)


def _next_schedules() -> QuerySet[Schedule]:
    return Schedule.objects.filter(enabled=True, next_run_at__isnull=False).order_by("next_run_at")[:LINES]


def _upcoming_line(schedule: Schedule, now: datetime) -> dict[str, Any]:
    return {
        "schedule": cells.schedule_link(schedule.pk, schedule.name),
        "words": triggers.in_words(schedule),
        "at": when(schedule.next_run_at, now),
    }


# --- quotas --------------------------------------------------------------------------------------------------------


def _quota_tiles(now: datetime) -> list[Tile]:
    return _standing_tiles(Quota, _("quotas"), QUOTA_STANDING, now)


def _short_quota_lines(now: datetime) -> list[dict[str, Any]]:
    """Return the quotas for which work waits, or would: those first for which somebody has waited for longest."""
    short = Quota.objects.filter(quota_questions.is_insufficient(now) | quota_questions.is_waited_for(now))
    quotas = list(short.order_by(F("waited_since").asc(nulls_last=True), "-verdict_at")[:LINES])
    waiting = count_waiting([quota.pk for quota in quotas])
    return [_quota_line(quota, waiting[quota.pk], now) for quota in quotas]


def _quota_line(quota: Quota, waiting: int, now: datetime) -> dict[str, Any]:
    return {
        "quota": row_link(quota),
        "bar": quota_cells.bar(quota, now),
        "verdict": quota_cells.verdict_badges(quota),
        "waiting": quota_cells.waiting(waiting, quota.waited_since, now),
        "reset": when(next_reset(quota, now), now),
    }


# --- parts ---------------------------------------------------------------------------------------------------------


def _scan_line(state: ScanState, now: datetime) -> dict[str, Any]:
    mark = state.mark
    return {
        "name": _(state.name),
        "badge": _scan_badge(state),
        "last": when(mark.last_at, now) if mark else format_html("{}", _("never")),
        "by": mark.last_by if mark else "",
        "note": mark.note if mark else "",
        "why": _(state.scan.reason),
    }


def _scan_badge(state: ScanState) -> SafeString:
    if not state.recent:
        return badge(_("missing"), "red")
    return badge(_("recent"), "green") if state.mark else badge(_("awaited"), "grey")


def _trouble(
    model: type[Model], trouble: tuple[tuple[str | Promise, Condition, str, str], ...], now: datetime
) -> list[Tile]:
    return [_tile(model, label, condition, name, colour, now) for label, condition, name, colour in trouble]


def _tile(
    model: type[Model], label: str | Promise, condition: Condition, name: str, colour: str, now: datetime
) -> Tile:
    count = model._default_manager.filter(condition(now))[: CAP + 1].count()
    return Tile(label, count, _list_url(model, f"show={name}"), colour, capped=True)


def _standing_tiles(
    model: type[Schedule] | type[Quota],
    every: str | Promise,
    standing: tuple[tuple[str | Promise, Condition, str, str], ...],
    now: datetime,
) -> list[Tile]:
    """Count all rows, and those of each standing, in one query."""
    counted = {name: Count("id", filter=condition(now)) for _label, condition, name, _colour in standing}
    counts = model._default_manager.aggregate(all=Count("id"), **counted)
    return [Tile(every, counts["all"], _list_url(model, ""), "grey")] + [
        Tile(label, counts[name], _list_url(model, f"show={name}"), colour)
        for label, _condition, name, colour in standing
    ]


def _list_url(model: type[Model], query: str) -> str:
    url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return f"{url}?{query}" if query else url
