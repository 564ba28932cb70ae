"""Why a run that is to be launched has not begun: what is in its way, or which time it waits for."""

from datetime import datetime, timedelta

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from project.kit.sentences import closed, together
from project.kit.wall_clocks import quiet_until
from scheduler import cron, wording
from scheduler.explaining.explanation import Explanation, RowRef, Situation
from scheduler.explaining.needs import amount_of, need_in_words
from scheduler.explaining.quota_facts import Need
from scheduler.explaining.run_facts import AHEAD_LIMIT, RunFacts, sentence, silence_of
from scheduler.explaining.scans import PATIENCE
from scheduler.models import TaskRun
from scheduler.states import RunState


def explain_due(facts: RunFacts, due_at: datetime, now: datetime) -> Explanation:
    """Say why a run that is due has not begun yet."""
    run = facts.run
    if facts.blocker is not None:
        return _queued(facts, facts.blocker, due_at)
    if run.lease_expires_at is not None:
        return _hinted(facts, run.lease_expires_at, now)
    return _before_launch(facts, due_at, now)


def _before_launch(facts: RunFacts, due_at: datetime, now: datetime) -> Explanation:
    if silence := silence_of(facts.scans.launch, now, facts.zone):
        return _not_launched(
            facts, Situation.NOBODY_LAUNCHES, due_at, closed(silence), _("a worker"), _(_WORKER_STARTS)
        )
    if note := facts.scans.launch.note if facts.scans.launch else "":
        return _not_launched(facts, Situation.BROKER_DOWN, due_at, note, _("the broker (Redis)"), _(_BROKER_IS_BACK))
    if end := _quiet_end(facts, now):
        return _quiet(facts, end, _("The next scan puts it off; it starts"))
    if need := next((need for need in facts.quotas.needs if need.kept_from_newcomers_by(now)), None):
        return _kept_back(facts, need, due_at, now)
    place, next_step = _("a free place in the queue"), _("The next scan launches it")
    return _not_launched(facts, Situation.DUE, due_at, _backlog(facts, due_at, now), place, next_step)


def _backlog(facts: RunFacts, due_at: datetime, now: datetime) -> str:
    if facts.ahead:
        text = _("Of the due runs %(count)s go before it: they are more urgent or older.")
        if facts.ahead == AHEAD_LIMIT:
            text = _("Of the due runs at least %(count)s go before it: they are more urgent or older.")
        return text % {"count": f"{facts.ahead:,}"}
    if facts.scans.launch is not None and now - due_at > PATIENCE:
        return _("Scans run, so the queue is full: it is launched when the runners have taken enough of what is in it.")
    return ""


def _kept_back(facts: RunFacts, need: Need, due_at: datetime, now: datetime) -> Explanation:
    waits_for = amount_of(need)
    why = need_in_words(need, facts.zone, now)
    next_step = _("The next scan pauses it; it goes on when its quota is back")
    return _not_launched(facts, Situation.WAITING_FOR_QUOTA, due_at, why, waits_for, next_step)


_BROKER_IS_BACK = gettext_noop("It is launched by itself as soon as the broker can be reached")
_WORKER_STARTS = gettext_noop("Start a worker (and beat): it is launched within seconds")


def _not_launched(
    facts: RunFacts, situation: Situation, due_at: datetime, why: str, waits_for: str, next_step: str
) -> Explanation:
    due = _("Run #%(id)s is due since %(at)s and not launched yet.") % {"id": facts.run.pk, "at": facts.at(due_at)}
    answer = together(due, sentence(why))
    return Explanation(situation, answer, facts.zone, waits_for, next_step=next_step, rows=facts.rows())


_BLOCKER_ENDS = {
    RunState.AWAITING_APPROVAL: gettext_noop(
        "Answer the question of run #%(id)s; when that run has ended, this one starts"
    ),
    RunState.SUSPENDED: gettext_noop("Let run #%(id)s go on or give it up; when it has ended, this one starts"),
}


def _queued(facts: RunFacts, blocker: TaskRun, due_at: datetime) -> Explanation:
    state = RunState(blocker.state)
    ends = _BLOCKER_ENDS.get(state, gettext_noop("It starts when run #%(id)s has ended"))
    said = {"id": blocker.pk, "state": state.label, "worker": blocker.lease_owner}
    return Explanation(
        Situation.QUEUED,
        _(
            "Run #%(waiting)s is due since %(at)s and waits for run #%(id)s, which is %(state)s: they are not to run "
            "at once."
        )
        % {**said, "waiting": facts.run.pk, "at": facts.at(due_at)},
        facts.zone,
        waits_for=_("run #%(id)s (%(state)s)") % said,
        held_by=_("run #%(id)s is held by %(worker)s") % said if blocker.lease_owner else "",
        next_step=_(ends) % said,
        rows=facts.rows(RowRef("run", blocker.pk)),
    )


def _hinted(facts: RunFacts, lease_until: datetime, now: datetime) -> Explanation:
    if lease_until > now:
        return Explanation(
            Situation.HINT_ON_ITS_WAY,
            _("Run #%(id)s is launched: a hint is on its way to a worker.") % {"id": facts.run.pk},
            facts.zone,
            waits_for=_("a free worker"),
            next_step=_("If no worker has taken the hint and it is lost, it is sent again"),
            next_at=lease_until,
            rows=facts.rows(),
        )
    next_step = _(
        "A lost hint is sent again by the next scan; one that waits in the queue is taken by the first runner that is "
        "free"
    )
    if silence := silence_of(facts.scans.launch, now, facts.zone):
        next_step = together(closed(silence), _(_WORKER_STARTS))
    return Explanation(
        Situation.HINT_NOT_TAKEN,
        _(
            "Run #%(id)s was launched, but no worker took its hint before %(at)s: all runners are busy, or none is "
            "running."
        )
        % {"id": facts.run.pk, "at": facts.at(lease_until)},
        facts.zone,
        waits_for=_("a free runner"),
        next_step=next_step,
        rows=facts.rows(),
    )


# --- waiting for a time ----------------------------------------------------------------------------------------


def explain_to_come(facts: RunFacts, due_at: datetime) -> Explanation:
    """Say why a run is due later only."""
    run = facts.run
    if run.state == RunState.FAILED:
        return _retry(facts, due_at)
    if run.state == RunState.DEFERRED:
        if facts.schedule is not None and run.reason == wording.quiet(due_at, facts.zone):
            return _quiet(facts, due_at, _("It starts"))
        answer = _("Run #%(id)s is put off until %(at)s.") % {"id": run.pk, "at": facts.at(due_at)}
        return _starts(facts, Situation.DEFERRED, f"{answer}{sentence(run.reason)}", due_at)
    answer = _("Run #%(id)s is due at %(at)s.") % {"id": run.pk, "at": facts.at(due_at)}
    return _starts(facts, Situation.STARTS_LATER, f"{answer}{sentence(run.reason or _jitter(facts))}", due_at)


def _retry(facts: RunFacts, due_at: datetime) -> Explanation:
    run = facts.run
    said = {"id": run.pk, "number": run.failure_count, "count": len(run.retry_delays)}
    failed = _("Run #%(id)s failed and waits for its retry %(number)s of %(count)s.") % said
    if facts.event:
        failed = _("Run #%(id)s failed at %(at)s and waits for its retry %(number)s of %(count)s.")
        failed %= {**said, "at": facts.at(facts.event.at)}
    return Explanation(
        Situation.RETRY_WAITING,
        f"{failed}{sentence(run.reason)}",
        facts.zone,
        waits_for=_("its retry delay"),
        next_step=_("It is tried again, retry %(number)s of %(count)s,") % said,
        next_at=due_at,
        rows=facts.rows(facts.attempt_row),
    )


def _quiet(facts: RunFacts, end: datetime, next_step: str) -> Explanation:
    schedule = facts.schedule
    text = _("Run #%(id)s waits until %(end)s: its schedule has quiet hours, in which nothing is launched.")
    said = {"id": facts.run.pk, "end": facts.at(end), "zone": facts.zone}
    if schedule and schedule.quiet_from and schedule.quiet_until:
        text = _(
            "Run #%(id)s waits until %(end)s: its schedule has quiet hours from %(from)s to %(until)s %(zone)s, in "
            "which nothing is launched."
        )
        said |= {"from": f"{schedule.quiet_from:%H:%M}", "until": f"{schedule.quiet_until:%H:%M}"}
    return Explanation(
        Situation.QUIET_HOURS,
        text % said,
        facts.zone,
        waits_for=_("the end of the quiet hours"),
        next_step=next_step,
        next_at=end,
        rows=facts.rows(RowRef("schedule", schedule.pk) if schedule else None),
    )


def _starts(facts: RunFacts, situation: Situation, answer: str, due_at: datetime) -> Explanation:
    return Explanation(
        situation, answer, facts.zone, _("its time"), next_step=_("It starts"), next_at=due_at, rows=facts.rows()
    )


def _quiet_end(facts: RunFacts, now: datetime) -> datetime | None:
    schedule = facts.schedule
    if (
        schedule is None
        or schedule.quiet_from is None
        or schedule.quiet_until is None
        or facts.run.state == RunState.RESUMING
    ):
        return None
    try:
        return quiet_until(schedule.quiet_from, schedule.quiet_until, cron.zone(schedule.timezone), now)
    except cron.TriggerError:
        return None


def _jitter(facts: RunFacts) -> str:
    seconds = facts.schedule.jitter_seconds if facts.schedule else 0
    if not seconds:
        return ""
    return _("Its schedule spreads its runs over %(span)s.") % {"span": wording.duration(timedelta(seconds=seconds))}
