"""Why a paused run does not go on, and what becomes of one that was resumed: pure decisions over rows that were
read.
"""

from dataclasses import replace
from datetime import datetime

from quotas import availability
from quotas.models import Quota
from quotas.states import Kind
from scheduler import quiet_hours
from scheduler.explaining.explanation import Explanation, RowRef, Situation
from scheduler.explaining.needs import need_in_words
from scheduler.explaining.quota_facts import Need
from scheduler.explaining.run_facts import RunFacts, sentence
from scheduler.models import Pause
from scheduler.states import EventTrigger

UNTOLD = "It goes on when its quota is back, or when a person resumes it"
TRIES_OTHERS = "for all that wait for it: they go on once it has got through"


def explain_paused(facts: RunFacts, now: datetime) -> Explanation:
    """Say for which quotas a paused run waits, what they lack, what else keeps it, and when it is expected back."""
    pause = facts.quotas.pause
    if not facts.quotas.needs:
        return _without_rows(facts)
    if above := next((need for need in facts.quotas.needs if need.above_limit()), None):
        return _above_limit(facts, above, now)
    if pause is not None and pause.held:
        return _held(facts, pause, now)
    if facts.blocker is not None:
        return _behind(facts, now)
    if pause is not None and pause.not_before is not None and pause.not_before > now:
        return _delayed(facts, pause, pause.not_before, now)
    return _waiting(facts, now)


def explain_resuming(facts: RunFacts, launch: Explanation, now: datetime) -> Explanation:
    """Say of a run that was resumed since when, by what, and what happens if no worker begins it.

    Args:
        launch: why it is not begun yet, as of any run that is to be launched.
    """
    deadline = facts.run.deadline_at
    if deadline is None:
        return launch
    answer = f"{_resumed(facts)} {launch.answer}"
    if deadline <= now:
        return replace(
            launch,
            situation=Situation.RESUMING,
            answer=f"{answer} No worker has begun it by its deadline, {facts.at(deadline)}.",
            next_step="The next scan pauses it again; it is resumed after a delay",
            next_at=None,
        )
    fallback = f"If no worker has begun it by {facts.at(deadline)}, it is paused again and resumed after a delay."
    situation = Situation.RESUMING if launch.situation in _ON_ITS_WAY else launch.situation
    return replace(launch, situation=situation, answer=f"{answer} {fallback}")


_ON_ITS_WAY = (Situation.DUE, Situation.HINT_ON_ITS_WAY, Situation.STARTS_LATER)


def _resumed(facts: RunFacts) -> str:
    by = f" ({EventTrigger(facts.event.trigger).label})" if facts.event else ""
    return f"Run #{facts.run.pk} is resuming{facts.since()}{by}.{sentence(facts.run.reason)}{trial(facts)}"


def trial(facts: RunFacts) -> str:
    """Return that the run tries a provider for the others; nothing where it does not."""
    tried = facts.quotas.tries
    return f" It tries whether the provider of “{tried.key}” answers again, {TRIES_OTHERS}." if tried else ""


# --- why it does not go on -------------------------------------------------------------------------------------


def _without_rows(facts: RunFacts) -> Explanation:
    answer = f"Run #{facts.run.pk} is paused{facts.since()}: its quota is used up.{sentence(facts.run.reason)}"
    waits_for = "its quota"
    return Explanation(Situation.WAITING_FOR_QUOTA, answer, facts.zone, waits_for, next_step=UNTOLD, rows=facts.rows())


def _above_limit(facts: RunFacts, need: Need, now: datetime) -> Explanation:
    link = need.above_limit() or need.quota
    return _answer(
        facts,
        now,
        Situation.NEED_ABOVE_LIMIT,
        waits_for=f"a higher limit of “{link.key}”",
        next_step=f"Nothing resumes it: raise the limit of “{link.key}” to {need.amount:,} or more, or cancel the run",
    )


_HELD = {
    Pause.Held.AGREEMENT: "It is held: its schedule lets a paused run go on only after a person agreed.",
    Pause.Held.LIMIT: "It is held: it was resumed {count} times, as often as its schedule lets it go on by itself.",
    Pause.Held.SETBACKS: "It is held: it was resumed {setbacks} times in a row and got nowhere.",
}


def _held(facts: RunFacts, pause: Pause, now: datetime) -> Explanation:
    held = _HELD[Pause.Held(pause.held)].format(count=pause.resume_count, setbacks=pause.setbacks)
    return _answer(
        facts,
        now,
        Situation.HELD,
        extra=held,
        waits_for="a person who resumes it",
        next_step="Once a person has resumed it, it goes on as soon as its quotas allow it",
    )


def _behind(facts: RunFacts, now: datetime) -> Explanation:
    blocker = facts.blocker
    number, state = (blocker.pk, blocker.get_state_display()) if blocker else (0, "")
    return _answer(
        facts,
        now,
        Situation.QUEUED,
        extra=f"Before it goes run #{number}, which is {state}: they are not to run at once.",
        waits_for=f"run #{number} ({state})",
        next_step=f"When run #{number} has ended, it goes on as soon as its quotas allow it",
        rows=(RowRef("run", number),),
    )


def _delayed(facts: RunFacts, pause: Pause, not_before: datetime, now: datetime) -> Explanation:
    return _answer(
        facts,
        now,
        Situation.RESUME_DELAYED,
        extra=_why_delayed(facts, pause, not_before, now),
        waits_for="its delay",
        next_step="If its quotas allow it by then, it goes on",
        next_at=not_before,
    )


def _why_delayed(facts: RunFacts, pause: Pause, not_before: datetime, now: datetime) -> str:
    schedule = facts.schedule
    if schedule is not None and quiet_hours.end_of_quiet(schedule, now) == not_before:
        return f"Its schedule has quiet hours until {facts.at(not_before)}."
    if pause.setbacks:
        times = "once" if pause.setbacks == 1 else f"{pause.setbacks} times in a row"
        return f"It was resumed {times} and got nowhere, so it waits longer each time."
    return "It was paused so often within an hour that it waits until the hour has passed."


def _waiting(facts: RunFacts, now: datetime) -> Explanation:
    refusing = [link for need in facts.quotas.needs if (link := need.refused_by(now))]
    place = facts.quotas.place
    kept = f" {place.obstacle}" if place is not None and place.obstacle and not refusing else ""
    expected = facts.quotas.expected_at(now)
    next_step, next_at = _next(facts, refusing, expected, now)
    return _answer(
        facts,
        now,
        _situation(refusing, now),
        extra=f"{_turn(facts)}{kept}".strip(),
        next_step=next_step,
        next_at=next_at,
    )


def _situation(refusing: list[Quota], now: datetime) -> Situation:
    if not refusing:
        return Situation.WAITING_ITS_TURN
    if any(availability.is_blocked(link, now) or link.provider_unverified for link in refusing):
        return Situation.WAITING_FOR_PROVIDER
    return Situation.WAITING_FOR_QUOTA


def _turn(facts: RunFacts) -> str:
    quotas = facts.quotas
    if quotas.number == 0 or quotas.waiting < 2:
        return ""
    return f"It is number {quotas.number} of the {quotas.waiting:,} that wait for “{quotas.needs[0].quota.key}”."


def _next(
    facts: RunFacts, refusing: list[Quota], expected: datetime | None, now: datetime
) -> tuple[str, datetime | None]:
    if expected is not None and expected > now:
        return "It is expected to go on", expected
    if not refusing and (facts.quotas.place is None or facts.quotas.place.goes_on):
        check = facts.quotas.needs[0].quota.next_check_at
        return "It fits: the next scan resumes it, at the latest the fallback poll", check
    return next((_remedy(link, now) for link in refusing), "It goes on as soon as its turn comes"), None


def _remedy(link: Quota, now: datetime) -> str:
    if availability.is_blocked(link, now) or link.provider_unverified:
        return f"It goes on when the provider of “{link.key}” has been seen to answer again"
    if link.limit == 0:
        return f"It goes on when somebody raises the limit of “{link.key}”"
    if link.kind == Kind.CAPACITY:
        return f"It goes on when “{link.key}” is topped up, or its limit raised"
    return f"It goes on when “{link.key}” is back; when that is, is not known"


def _answer(
    facts: RunFacts,
    now: datetime,
    situation: Situation,
    *,
    next_step: str,
    next_at: datetime | None = None,
    extra: str = "",
    waits_for: str = "",
    rows: tuple[RowRef, ...] = (),
) -> Explanation:
    needs = facts.quotas.needs
    unlaunched = "" if facts.run.attempt_count else ", without having been launched"
    said = [
        f"Run #{facts.run.pk} is paused{facts.since()}{unlaunched}.",
        *(need_in_words(need, facts.zone, now) for need in needs),
    ]
    return Explanation(
        situation,
        " ".join([*said, *([extra] if extra else [])]),
        facts.zone,
        waits_for or ", ".join(f"{need.amount:,} of “{need.quota.key}”" for need in needs),
        next_step=next_step,
        next_at=next_at,
        rows=facts.rows(*rows, *(RowRef("quota", need.quota.pk) for need in needs)),
    )
