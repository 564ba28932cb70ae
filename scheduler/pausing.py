"""A run that its quotas refuse waits for them: with its checkpoint, and with rows that say for what and why.

The quotas are read again under their locks: where one came back in between, the run is due at once instead of left
asleep.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F

from quotas import availability, evaluating, reserving
from quotas.books import Books, open_books_of_all
from quotas.models import Quota
from quotas.periods import RuleError
from quotas.refusals import NeverSatisfiable, Refused
from quotas.states import Cause, Verdict, WaitReason
from scheduler import accounts, attention, transitions
from scheduler.models import Pause, QuotaWait, RunEvent, TaskRun
from scheduler.states import EventTrigger, RunState
from scheduler.transitions import AttemptEnd, Claim
from scheduler.waits import note_need, owner_of

logger = logging.getLogger(__name__)

# After each setback in a row the run waits longer before it is resumed again: 30 s, a minute, … an hour.
FIRST_DELAY = timedelta(seconds=30)
LONGEST_DELAY = timedelta(hours=1)
# So many setbacks in a row are told to a person.
SETBACKS_UNTIL_TOLD = 5
# A run is paused so often within an hour; then it waits for the hour to pass, and that is told.
MOST_PAUSES_AN_HOUR = 12
HOUR = timedelta(hours=1)

CAME_BACK = "The quota came back in between: it goes on at once."


@dataclass(frozen=True, slots=True)
class Wait:
    """What a run waits for in one quota."""

    quota_id: int
    amount: int
    why: WaitReason
    expected_at: datetime | None


def pause_running(
    claim: Claim,
    refusals: Sequence[Refused],
    *,
    attempt_end: AttemptEnd,
    progressed: bool,
    now: datetime,
) -> bool:
    """Pause the claimed run, which its quotas refused; tell whether the claim still held.

    Args:
        progressed: whether the attempt got anywhere before; one that did not is a setback.
    """
    with transaction.atomic():
        books = open_books_of_all(_quotas_of({refusal.quota_id for refusal in refusals}), now)
        waits = _still_refused(books, {refusal.quota_id: refusal.amount for refusal in refusals})
        if not waits:
            return _make_due(claim, attempt_end, now)
        reason = " ".join(str(refusal) for refusal in refusals)
        moved = transitions.move(
            [claim],
            RunState.PAUSED,
            now=now,
            trigger=EventTrigger.QUOTA,
            reason=reason,
            sources=[RunState.RUNNING],
            attempt_end=attempt_end,
            counting=["pause_count"],
            unless_cancel_asked=True,
        )
        if moved:
            _let_wait(books, {claim.run_id: waits}, now)
            _judge_setback(Pause.objects.get(run=claim.run_id), progressed=progressed, now=now)
        books.save(Cause.SPENDING)
    return bool(moved)


def hold_back(claims: Iterable[Claim], *, now: datetime) -> set[int]:
    """Pause the due runs, just leased, whose quota would refuse them, and return their ids: they wait together with
    those that were refused, instead of being launched only to fail.
    """
    by_id = {claim.run_id: claim for claim in claims}
    needing = TaskRun.objects.filter(pk__in=by_id, quota__isnull=False, cancel_requested_at__isnull=True)
    needing = needing.exclude(state=RunState.RESUMING)
    needs: dict[int, dict[int, int]] = defaultdict(dict)
    for run in needing.select_related("quota").only("quota", "quota_need"):
        if run.quota is not None:
            needs[run.quota.pk][run.pk] = run.quota_need or run.quota.default_step
    held = (_hold_back_from(quota_id, runs, by_id, now) for quota_id, runs in needs.items())
    return {run_id for run_ids in held for run_id in run_ids}


def return_to_pause(*, now: datetime) -> int:
    """Pause again the resumed runs that no worker began by their deadline; return how many it were.

    Each waits longer before its next try. After several in a row a person is told; the tries go on, since it is
    seldom the run's own fault. One that is to be cancelled is left to the worker which tells it.
    """
    overdue = TaskRun.objects.filter(state=RunState.RESUMING, deadline_at__lte=now)
    claims = [Claim(run_id, token) for run_id, token in overdue.values_list("pk", "lease_token")]
    if not claims:
        return 0
    with transaction.atomic():
        accounts.lock([claim.run_id for claim in claims])
        moved = transitions.move(
            claims,
            RunState.PAUSED,
            now=now,
            trigger=EventTrigger.TIMEOUT,
            reason="It was resumed, but no worker began it in time.",
            sources=[RunState.RESUMING],
            unless_cancel_asked=True,
        )
        run_ids = [run.run_id for run in moved]
        reserving.release_all_of([owner_of(run_id) for run_id in run_ids], now=now)
        for pause in Pause.objects.filter(run__in=run_ids).order_by("pk").select_for_update():
            pause.resume_count -= 1  # it did not go on
            _delay(pause, now)
            pause.save(update_fields=["resume_count", "setbacks", "not_before"])
    return len(moved)


# --- what it waits for -----------------------------------------------------------------------------------------


def _quotas_of(quota_ids: Iterable[int]) -> set[int]:
    """Return the quotas and all that they are part of."""
    leaves = Quota.objects.filter(pk__in=quota_ids).only("ancestors")
    return {link for leaf in leaves for link in leaf.chain}


def _still_refused(books: Books, needs: dict[int, int]) -> list[Wait]:
    """Return what of the needs the locked quotas refuse, and note there that it is waited for."""
    waits = []
    for quota_id, amount in needs.items():
        try:
            books.refuse_what_does_not_fit(books.quotas[quota_id], amount)
        except Refused as refused:
            waits.append(Wait(quota_id, amount, refused.why, refused.expected_at))
        except NeverSatisfiable:  # the limit was lowered: it waits for a person to raise it
            waits.append(Wait(quota_id, amount, WaitReason.OWN_BUDGET, None))
    return waits


def _make_due(claim: Claim, attempt_end: AttemptEnd, now: datetime) -> bool:
    moved = transitions.move(
        [claim],
        RunState.PENDING,
        now=now,
        trigger=EventTrigger.QUOTA,
        reason=CAME_BACK,
        sources=[RunState.RUNNING],
        attempt_end=attempt_end,
        unless_cancel_asked=True,
        columns={"due_at": now},
    )
    return bool(moved)


def _hold_back_from(quota_id: int, needs: dict[int, int], claims: dict[int, Claim], now: datetime) -> list[int]:
    try:
        with transaction.atomic():
            books = open_books_of_all(_quotas_of([quota_id]), now)
            held = _hold_back_under_locks(books, books.quotas[quota_id], needs, claims)
            books.save(Cause.SPENDING)
    except RuleError:  # its zone is not known any more, for example: the runs say so themselves
        logger.exception("quota #%s holds back nobody", quota_id)
        return []
    return held


def _hold_back_under_locks(books: Books, quota: Quota, needs: dict[int, int], claims: dict[int, Claim]) -> list[int]:
    barred = any(evaluating.bars_newcomers(link, books.now) for link in books.links(quota))
    found = {run_id: _waits_of_newcomer(books, quota, need, barred=barred) for run_id, need in needs.items()}
    waits = {run_id: waits for run_id, waits in found.items() if waits}
    moved = transitions.move(
        [claims[run_id] for run_id in waits],
        RunState.PAUSED,
        now=books.now,
        trigger=EventTrigger.QUOTA,
        reason=f"The quota “{quota.key}” is used up: it waits, and is not launched.",
        counting=["pause_count"],
        unless_cancel_asked=True,
    )
    run_ids = [run.run_id for run in moved]
    _let_wait(books, {run_id: waits[run_id] for run_id in run_ids}, books.now)
    return run_ids


def _waits_of_newcomer(books: Books, quota: Quota, need: int, *, barred: bool) -> list[Wait]:
    """Return what a due run has to wait for. A need above a limit is launched: it fails at once and says so."""
    try:
        books.refuse_what_does_not_fit(quota, need)
    except NeverSatisfiable:
        return []
    except Refused as refused:
        return [Wait(quota.pk, need, refused.why, refused.expected_at)]
    if not barred:
        return []
    why, expected_at = availability.why(quota, need, books.now), availability.expected_at(quota, need, books.now)
    return [Wait(quota.pk, need, why, expected_at)]


def _let_wait(books: Books, waits: dict[int, list[Wait]], now: datetime) -> None:
    """Write the rows of what the runs wait for, in the place of those of an earlier pause."""
    QuotaWait.objects.filter(run__in=waits).delete()
    QuotaWait.objects.bulk_create(
        QuotaWait(
            run_id=run_id,
            quota_id=wait.quota_id,
            amount=wait.amount,
            why=wait.why,
            since=now,
            expected_at=wait.expected_at,
        )
        for run_id, found in waits.items()
        for wait in found
    )
    Pause.objects.bulk_create(
        [Pause(run_id=run_id, since=now) for run_id in waits],
        update_conflicts=True,
        unique_fields=["run"],
        update_fields=["since"],
    )
    _hold_by_valve(waits)
    for wait in {wait for found in waits.values() for wait in found}:
        _note_on_links(books, wait)


def _note_on_links(books: Books, wait: Wait) -> None:
    """Note the need on the quotas that keep it waiting, so that its coming is an edge."""
    for link in books.links(books.quotas[wait.quota_id]):
        if link.verdict == Verdict.INSUFFICIENT or not availability.fits(link, wait.amount, books.now):
            note_need(link, wait.amount, books.now)


def _hold_by_valve(run_ids: Collection[int]) -> None:
    """Keep paused what its schedule lets go on by itself only so often, or not at all."""
    pauses = Pause.objects.filter(run__in=run_ids)
    pauses.filter(run__resume_limit__lte=F("resume_count")).update(held=Pause.Held.LIMIT)
    pauses.filter(run__resume_by_hand=True).update(held=Pause.Held.AGREEMENT)


# --- setbacks --------------------------------------------------------------------------------------------------


def _judge_setback(pause: Pause, *, progressed: bool, now: datetime) -> None:
    """Let a run that gets nowhere wait longer each time, and one that pauses too often for the hour to pass."""
    if progressed or not pause.resume_count:
        pause.setbacks, pause.not_before = 0, None
    else:
        _delay(pause, now)
        if pause.setbacks >= SETBACKS_UNTIL_TOLD and not pause.held:
            pause.held = Pause.Held.SETBACKS
    _bound_an_hour(pause, now)
    pause.save(update_fields=["setbacks", "not_before", "held"])


def _delay(pause: Pause, now: datetime) -> None:
    pause.setbacks += 1
    pause.not_before = now + min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(pause.setbacks - 1, 10))
    if pause.setbacks == SETBACKS_UNTIL_TOLD:
        sentence = f"It was resumed {pause.setbacks} times in a row and got nowhere."
        attention.tell_of_runs(attention.Kind.RUN_NOT_RESUMED, [pause.pk], sentence, now)


def _bound_an_hour(pause: Pause, now: datetime) -> None:
    pauses = RunEvent.objects.filter(run=pause.pk, to_state=RunState.PAUSED, at__gt=now - HOUR).order_by("id")
    instants = list(pauses.values_list("at", flat=True))
    if len(instants) < MOST_PAUSES_AN_HOUR:
        return
    hour_passed = instants[-MOST_PAUSES_AN_HOUR] + HOUR
    pause.not_before = max(hour_passed, pause.not_before or hour_passed)
    if len(instants) == MOST_PAUSES_AN_HOUR:
        sentence = f"It was paused {len(instants)} times within an hour; it waits until the hour has passed."
        attention.tell_of_runs(attention.Kind.RUN_FLAPS, [pause.pk], sentence, now)
