"""The small parts of which the lists and pages of the scheduler are made."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from project.kit.admin import absolute, badge, span
from quotas.models import Quota
from scheduler.admin.questions import PATIENCE
from scheduler.models import Attempt, Fire, Schedule, TaskRun
from scheduler.states import COLOURS, AttemptOutcome, FireKind, FireOutcome, RunState

FIRE_COLOURS = {
    FireOutcome.STARTED: "green",
    FireOutcome.SKIPPED_OVERLAP: "amber",
    FireOutcome.SKIPPED_MISFIRE: "amber",
    FireOutcome.SKIPPED_PAUSED: "grey",
    FireOutcome.SKIPPED_EXCLUDED: "grey",
    FireOutcome.ALREADY_DONE: "grey",
    FireOutcome.FAILED_TO_START: "red",
}
ATTEMPT_COLOURS = {
    AttemptOutcome.DONE: "green",
    AttemptOutcome.FAILED: "red",
    AttemptOutcome.TIMED_OUT: "red",
    AttemptOutcome.LOST: "amber",
    AttemptOutcome.DEFERRED: "grey",
    AttemptOutcome.PAUSED: "violet",
    AttemptOutcome.AWAITING_APPROVAL: "amber",
    AttemptOutcome.HANDED_BACK: "grey",
    AttemptOutcome.CANCELLED: "grey",
}


def state_badge(state: str) -> SafeString:
    """Return a run state as a badge."""
    known = RunState(state)
    return badge(known.label, COLOURS[known])


def run_badges(run: TaskRun, now: datetime) -> SafeString:
    """Return the stored state, and what it does not say: overdue, stuck, to be retried, asked to cancel."""
    badges = [state_badge(run.state)]
    if run.state == RunState.FAILED and run.due_at is not None:
        badges.append(badge(_("retry"), "amber"))
    if run.cancel_requested_at is not None and run.finished_at is None:
        badges.append(badge(_("cancel asked"), "amber"))
    if is_stuck(run, now):
        badges.append(badge(_("stuck"), "red"))
    elif run.due_at is not None and run.due_at < now - PATIENCE:
        badges.append(badge(_("overdue"), "red"))
    return format_html_join(" ", "{}", ((part,) for part in badges))


def is_stuck(run: TaskRun, now: datetime) -> bool:
    """Tell whether the worker that has the run let its lease expire."""
    return run.state == RunState.RUNNING and run.lease_expires_at is not None and run.lease_expires_at < now


def fire_badge(outcome: str, title: str = "") -> SafeString:
    """Return what became of a fire as a badge."""
    known = FireOutcome(outcome)
    return badge(known.label, FIRE_COLOURS[known], title)


def kind_text(kind: str) -> str:
    """Return why a fire was claimed."""
    return str(FireKind(kind).label)


def attempt_badge(attempt: Attempt) -> SafeString:
    """Return how an attempt ended as a badge."""
    if not attempt.outcome:
        return badge(_("running"), "blue")
    known = AttemptOutcome(attempt.outcome)
    return badge(known.label, ATTEMPT_COLOURS[known])


def progress(run: TaskRun) -> SafeString:
    """Return how far a run got as a bar with figures; nothing where its job did not say."""
    if run.progress_done is None and not run.progress_total:
        return SafeString()
    if run.progress_percent is None:
        return format_html('<span class="figures">{}</span>', f"{run.progress_done:,}")
    figures = f"{run.progress_done or 0:,} / {run.progress_total:,}"
    return format_html(
        '<span class="progress" title="{}"><progress max="100" value="{}">{} %</progress>'
        '<span class="figures">{} %</span></span>',
        figures,
        *[run.progress_percent] * 3,
    )


def far(run: TaskRun) -> str:
    """Return how far a run got in words; nothing where its job did not say."""
    if run.progress_percent is not None:
        return f"{run.progress_percent} %"
    return "" if run.progress_done is None else f"{run.progress_done:,}"


def took(started_at: datetime | None, finished_at: datetime | None, now: datetime) -> str:
    """Return how long something took, or takes so far."""
    if started_at is None:
        return "–"
    if finished_at is None:
        return f"{span(now - started_at)} …"
    return span(finished_at - started_at)


def run_link(run_id: int | None, text: str = "") -> SafeString:
    """Return a link to the page of a run; nothing where there is none."""
    if run_id is None:
        return SafeString()
    return format_html(
        '<a href="{}">{}</a>', reverse("admin:scheduler_taskrun_change", args=[run_id]), text or f"#{run_id}"
    )


def schedule_link(schedule_id: int | None, name: str) -> SafeString:
    """Return a link to the page of a schedule, or the name alone."""
    if schedule_id is None:
        return format_html("{}", name)
    return format_html('<a href="{}">{}</a>', reverse("admin:scheduler_schedule_change", args=[schedule_id]), name)


def fire_link(fire: Fire, text: str) -> SafeString:
    """Return a link to the page of a fire."""
    return format_html('<a href="{}">{}</a>', reverse("admin:scheduler_fire_change", args=[fire.pk]), text)


def amount(units: int, quota: Quota) -> str:
    """Return an amount of a quota with its unit."""
    return f"{units:,} {quota.unit}".rstrip()


def valve(terms: Schedule | TaskRun) -> str | None:
    """Return how far a paused run goes on by itself; None: as often as its quotas allow it."""
    if terms.resume_by_hand:
        return _("only after a person agreed")
    if terms.resume_limit is None:
        return None
    text = ngettext("%(count)s time at most", "%(count)s times at most", terms.resume_limit)
    return text % {"count": terms.resume_limit}


def seal(text: str) -> SafeString:
    """Return the seal of an ended run: its beginning, and all of it on hover."""
    title = _("SHA-256 of what the run was to do and did: %(seal)s") % {"seal": text}
    return format_html('<code title="{}">{}…</code>', title, text[:12])


def strip(runs: Iterable[dict[str, Any]]) -> SafeString:
    """Return runs, given from the latest to the oldest, as a strip of small coloured links in the order of time.

    A keyboard comes to the latest; from there the arrow keys lead along the strip.

    Args:
        runs: `id`, `state`, `stat_date` and `due` (whether it is due again) of each.
    """
    cells = [(*_strip_cell(run), -1 if number else 0) for number, run in enumerate(runs)][::-1]
    links = format_html_join("", '<a class="{}" href="{}" title="{}" aria-label="{}" tabindex="{}"></a>', cells)
    return format_html('<span class="strip" data-arrows>{}</span>', links)


def _strip_cell(run: dict[str, Any]) -> tuple[str, str, str, str]:
    title = f"#{run['id']} · {run['stat_date']} · {RunState(run['state']).label}"
    address = reverse("admin:scheduler_taskrun_change", args=[run["id"]])
    return run_colour(run["state"], is_due=run["due"]), address, title, title


def run_colour(state: str, *, is_due: bool) -> str:
    """Return the colour of a run in pictures: one that failed and is tried again is not lost yet."""
    known = RunState(state)
    return "amber" if known == RunState.FAILED and is_due else COLOURS[known]


def missed_span(fire: Fire) -> str:
    """Return the span that a skip stands for, where it stands for several due times."""
    if not fire.missed_count or fire.missed_from is None or fire.missed_until is None:
        return ""
    return f"{fire.missed_count} ({absolute(fire.missed_from)} – {absolute(fire.missed_until)})"


def seconds_text(seconds: int | None) -> str:
    """Return a number of seconds as a span; a dash where there is none."""
    return "–" if seconds is None else span(timedelta(seconds=seconds))
