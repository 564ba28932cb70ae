"""Why a paused run does not go on, and what becomes of one that was resumed: pure decisions over rows that were
read.
"""

from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from project.kit.sentences import together
from quotas import availability
from quotas.models import Quota
from quotas.states import Kind
from scheduler import quiet_hours
from scheduler.explaining.explanation import Explanation, RowRef, Situation
from scheduler.explaining.needs import amount_of, need_in_words
from scheduler.explaining.quota_facts import Need
from scheduler.explaining.run_facts import RunFacts, sentence
from scheduler.models import Pause
from scheduler.states import EventTrigger


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
    answer = together(_resumed(facts), launch.answer)
    if deadline <= now:
        return replace(
            launch,
            situation=Situation.RESUMING,
            answer=together(answer, _("No worker has begun it by its deadline, %(at)s.") % {"at": facts.at(deadline)}),
            next_step=_("The next scan pauses it again; it is resumed after a delay"),
            next_at=None,
        )
    fallback = _("If no worker has begun it by %(at)s, it is paused again and resumed after a delay.")
    situation = Situation.RESUMING if launch.situation in _ON_ITS_WAY else launch.situation
    return replace(launch, situation=situation, answer=together(answer, fallback % {"at": facts.at(deadline)}))


_ON_ITS_WAY = (Situation.DUE, Situation.HINT_ON_ITS_WAY, Situation.STARTS_LATER)


def _resumed(facts: RunFacts) -> str:
    by = f" ({EventTrigger(facts.event.trigger).label})" if facts.event else ""
    resuming = _("Run #%(id)s is resuming%(since)s%(by)s.") % {"id": facts.run.pk, "since": facts.since(), "by": by}
    return together(f"{resuming}{sentence(facts.run.reason)}", trial(facts))


def trial(facts: RunFacts) -> str:
    """Return that the run tries a provider for the others; nothing where it does not."""
    tried = facts.quotas.tries
    if tried is None:
        return ""
    return _(
        "It tries whether the provider of “%(quota)s” answers again, for all that wait for it: they go on once it has "
        "got through."
    ) % {"quota": tried.key}


# --- why it does not go on -------------------------------------------------------------------------------------


def _without_rows(facts: RunFacts) -> Explanation:
    paused = _("Run #%(id)s is paused%(since)s: its quota is used up.") % {"id": facts.run.pk, "since": facts.since()}
    return Explanation(
        Situation.WAITING_FOR_QUOTA,
        f"{paused}{sentence(facts.run.reason)}",
        facts.zone,
        waits_for=_("its quota"),
        next_step=_("It goes on when its quota is back, or when a person resumes it"),
        rows=facts.rows(),
    )


def _above_limit(facts: RunFacts, need: Need, now: datetime) -> Explanation:
    link = need.above_limit() or need.quota
    return _answer(
        facts,
        now,
        Situation.NEED_ABOVE_LIMIT,
        waits_for=_("a higher limit of “%(quota)s”") % {"quota": link.key},
        next_step=_("Nothing resumes it: raise the limit of “%(quota)s” to %(amount)s or more, or cancel the run")
        % {"quota": link.key, "amount": f"{need.amount:,}"},
    )


_HELD = {
    Pause.Held.AGREEMENT: gettext_noop("It is held: its schedule lets a paused run go on only after a person agreed."),
    Pause.Held.LIMIT: gettext_noop(
        "It is held: it was resumed %(count)s times, as often as its schedule lets it go on by itself."
    ),
    Pause.Held.SETBACKS: gettext_noop("It is held: it was resumed %(setbacks)s times in a row and got nowhere."),
}


def _held(facts: RunFacts, pause: Pause, now: datetime) -> Explanation:
    held = _(_HELD[Pause.Held(pause.held)]) % {"count": pause.resume_count, "setbacks": pause.setbacks}
    return _answer(
        facts,
        now,
        Situation.HELD,
        extra=held,
        waits_for=_("a person who resumes it"),
        next_step=_("Once a person has resumed it, it goes on as soon as its quotas allow it"),
    )


def _behind(facts: RunFacts, now: datetime) -> Explanation:
    blocker = facts.blocker
    said = {"id": blocker.pk if blocker else 0, "state": blocker.get_state_display() if blocker else ""}
    return _answer(
        facts,
        now,
        Situation.QUEUED,
        extra=_("Before it goes run #%(id)s, which is %(state)s: they are not to run at once.") % said,
        waits_for=_("run #%(id)s (%(state)s)") % said,
        next_step=_("When run #%(id)s has ended, it goes on as soon as its quotas allow it") % said,
        rows=(RowRef("run", blocker.pk if blocker else 0),),
    )


def _delayed(facts: RunFacts, pause: Pause, not_before: datetime, now: datetime) -> Explanation:
    return _answer(
        facts,
        now,
        Situation.RESUME_DELAYED,
        extra=_why_delayed(facts, pause, not_before, now),
        waits_for=_("its delay"),
        next_step=_("If its quotas allow it by then, it goes on"),
        next_at=not_before,
    )


def _why_delayed(facts: RunFacts, pause: Pause, not_before: datetime, now: datetime) -> str:
    schedule = facts.schedule
    if schedule is not None and quiet_hours.end_of_quiet(schedule, now) == not_before:
        return _("Its schedule has quiet hours until %(at)s.") % {"at": facts.at(not_before)}
    if pause.setbacks == 1:
        return _("It was resumed once and got nowhere, so it waits longer each time.")
    if pause.setbacks:
        text = _("It was resumed %(count)s times in a row and got nowhere, so it waits longer each time.")
        return text % {"count": pause.setbacks}
    return _("It was paused so often within an hour that it waits until the hour has passed.")


def _waiting(facts: RunFacts, now: datetime) -> Explanation:
    refusing = [link for need in facts.quotas.needs if (link := need.refused_by(now))]
    place = facts.quotas.place
    kept = place.obstacle if place is not None and not refusing else ""
    expected = facts.quotas.expected_at(now)
    next_step, next_at = _next(facts, refusing, expected, now)
    return _answer(
        facts,
        now,
        _situation(refusing, now),
        extra=together(_turn(facts), kept),
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
    text = _("It is number %(number)s of the %(count)s that wait for “%(quota)s”.")
    return text % {"number": quotas.number, "count": f"{quotas.waiting:,}", "quota": quotas.needs[0].quota.key}


def _next(
    facts: RunFacts, refusing: list[Quota], expected: datetime | None, now: datetime
) -> tuple[str, datetime | None]:
    if expected is not None and expected > now:
        return _("It is expected to go on"), expected
    if not refusing and (facts.quotas.place is None or facts.quotas.place.goes_on):
        check = facts.quotas.needs[0].quota.next_check_at
        return _("It fits: the next scan resumes it, at the latest the fallback poll"), check
    return next((_remedy(link, now) for link in refusing), _("It goes on as soon as its turn comes")), None


def _remedy(link: Quota, now: datetime) -> str:
    text = _("It goes on when “%(quota)s” is back; when that is, is not known")
    if availability.is_blocked(link, now) or link.provider_unverified:
        text = _("It goes on when the provider of “%(quota)s” has been seen to answer again")
    elif link.limit == 0:
        text = _("It goes on when somebody raises the limit of “%(quota)s”")
    elif link.kind == Kind.CAPACITY:
        text = _("It goes on when “%(quota)s” is topped up, or its limit raised")
    return text % {"quota": link.key}


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
    paused = _("Run #%(id)s is paused%(since)s.")
    if not facts.run.attempt_count:
        paused = _("Run #%(id)s is paused%(since)s, without having been launched.")
    said = [
        paused % {"id": facts.run.pk, "since": facts.since()},
        *(need_in_words(need, facts.zone, now) for need in needs),
    ]
    return Explanation(
        situation,
        together(*said, extra),
        facts.zone,
        waits_for or ", ".join(amount_of(need) for need in needs),
        next_step=next_step,
        next_at=next_at,
        rows=facts.rows(*rows, *(RowRef("quota", need.quota.pk) for need in needs)),
    )
