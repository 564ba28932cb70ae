"""Why a run that is to be launched has not begun: what is in its way, or which time it waits for."""

from datetime import datetime, timedelta

from project.kit.wall_clocks import quiet_until
from scheduler import cron, wording
from scheduler.explaining.explanation import Explanation, RowRef, Situation
from scheduler.explaining.needs import need_in_words
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
        return _not_launched(facts, Situation.NOBODY_LAUNCHES, due_at, f"{silence}.", "a worker", _WORKER_STARTS)
    if note := facts.scans.launch.note if facts.scans.launch else "":
        return _not_launched(facts, Situation.BROKER_DOWN, due_at, note, "the broker (Redis)", _BROKER_IS_BACK)
    if end := _quiet_end(facts, now):
        return _quiet(facts, end, "The next scan puts it off; it starts")
    if need := next((need for need in facts.quotas.needs if need.kept_from_newcomers_by(now)), None):
        return _kept_back(facts, need, due_at, now)
    place = "a free place in the queue"
    return _not_launched(facts, Situation.DUE, due_at, _backlog(facts, due_at, now), place, "The next scan launches it")


def _backlog(facts: RunFacts, due_at: datetime, now: datetime) -> str:
    if facts.ahead:
        at_least = "at least " if facts.ahead == AHEAD_LIMIT else ""
        return f"Of the due runs {at_least}{facts.ahead:,} go before it: they are more urgent or older."
    if facts.scans.launch is not None and now - due_at > PATIENCE:
        return "Scans run, so the queue is full: it is launched when the runners have taken enough of what is in it."
    return ""


def _kept_back(facts: RunFacts, need: Need, due_at: datetime, now: datetime) -> Explanation:
    waits_for = f"{need.amount:,} of “{need.quota.key}”"
    why = need_in_words(need, facts.zone, now)
    next_step = "The next scan pauses it; it goes on when its quota is back"
    return _not_launched(facts, Situation.WAITING_FOR_QUOTA, due_at, why, waits_for, next_step)


_BROKER_IS_BACK = "It is launched by itself as soon as the broker can be reached"
_WORKER_STARTS = "Start a worker (and beat): it is launched within seconds"


def _not_launched(
    facts: RunFacts, situation: Situation, due_at: datetime, why: str, waits_for: str, next_step: str
) -> Explanation:
    answer = f"Run #{facts.run.pk} is due since {facts.at(due_at)} and not launched yet.{sentence(why.strip())}"
    return Explanation(situation, answer, facts.zone, waits_for, next_step=next_step, rows=facts.rows())


_BLOCKER_ENDS = {
    RunState.AWAITING_APPROVAL: "Answer the question of run #{id}; when that run has ended, this one starts",
    RunState.SUSPENDED: "Let run #{id} go on or give it up; when it has ended, this one starts",
}


def _queued(facts: RunFacts, blocker: TaskRun, due_at: datetime) -> Explanation:
    state = RunState(blocker.state)
    ends = _BLOCKER_ENDS.get(state, "It starts when run #{id} has ended")
    return Explanation(
        Situation.QUEUED,
        f"Run #{facts.run.pk} is due since {facts.at(due_at)} and waits for run #{blocker.pk}, which is"
        f" {state.label}: they are not to run at once.",
        facts.zone,
        waits_for=f"run #{blocker.pk} ({state.label})",
        held_by=blocker.lease_owner and f"run #{blocker.pk} is held by {blocker.lease_owner}",
        next_step=ends.replace("{id}", str(blocker.pk)),
        rows=facts.rows(RowRef("run", blocker.pk)),
    )


def _hinted(facts: RunFacts, lease_until: datetime, now: datetime) -> Explanation:
    if lease_until > now:
        return Explanation(
            Situation.HINT_ON_ITS_WAY,
            f"Run #{facts.run.pk} is launched: a hint is on its way to a worker.",
            facts.zone,
            waits_for="a free worker",
            next_step="If no worker has taken the hint and it is lost, it is sent again",
            next_at=lease_until,
            rows=facts.rows(),
        )
    silence = silence_of(facts.scans.launch, now, facts.zone)
    return Explanation(
        Situation.HINT_NOT_TAKEN,
        f"Run #{facts.run.pk} was launched, but no worker took its hint before {facts.at(lease_until)}: all runners"
        f" are busy, or none is running.",
        facts.zone,
        waits_for="a free runner",
        next_step=f"{silence}. {_WORKER_STARTS}"
        if silence
        else "A lost hint is sent again by the next scan; one that"
        " waits in the queue is taken by the first runner that is free",
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
            return _quiet(facts, due_at, "It starts")
        answer = f"Run #{run.pk} is put off until {facts.at(due_at)}.{sentence(run.reason)}"
        return _starts(facts, Situation.DEFERRED, answer, due_at)
    why = sentence(run.reason or _jitter(facts))
    return _starts(facts, Situation.STARTS_LATER, f"Run #{run.pk} is due at {facts.at(due_at)}.{why}", due_at)


def _retry(facts: RunFacts, due_at: datetime) -> Explanation:
    run = facts.run
    number = f"retry {run.failure_count} of {len(run.retry_delays)}"
    failed = f" at {facts.at(facts.event.at)}" if facts.event else ""
    return Explanation(
        Situation.RETRY_WAITING,
        f"Run #{run.pk} failed{failed} and waits for its {number}.{sentence(run.reason)}",
        facts.zone,
        waits_for="its retry delay",
        next_step=f"It is tried again, {number},",
        next_at=due_at,
        rows=facts.rows(facts.attempt_row),
    )


def _quiet(facts: RunFacts, end: datetime, next_step: str) -> Explanation:
    schedule = facts.schedule
    window = f"{schedule.quiet_from:%H:%M} to {schedule.quiet_until:%H:%M}" if schedule and schedule.quiet_from else ""
    return Explanation(
        Situation.QUIET_HOURS,
        f"Run #{facts.run.pk} waits until {facts.at(end)}: its schedule has quiet hours"
        f"{f' from {window} {facts.zone}' if window else ''}, in which nothing is launched.",
        facts.zone,
        waits_for="the end of the quiet hours",
        next_step=next_step,
        next_at=end,
        rows=facts.rows(RowRef("schedule", schedule.pk) if schedule else None),
    )


def _starts(facts: RunFacts, situation: Situation, answer: str, due_at: datetime) -> Explanation:
    return Explanation(
        situation, answer, facts.zone, "its time", next_step="It starts", next_at=due_at, rows=facts.rows()
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
    return f"Its schedule spreads its runs over {wording.duration(timedelta(seconds=seconds))}." if seconds else ""
