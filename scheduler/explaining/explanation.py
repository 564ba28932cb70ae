"""What an answer to "why" is made of."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext as _

from project.kit.sentences import closed
from scheduler import wording


class Situation(StrEnum):
    """What an answer comes down to, for programs; people read its sentence."""

    # a due time of a schedule
    FIRED = "fired"
    MADE_UP_LATE = "made_up_late"
    MOVED = "moved"
    OFF_PLAN = "off_plan"
    MISSED = "missed"
    MISSED_BEYOND_GRACE = "missed_beyond_grace"
    LEFT_OUT_BY_EDIT = "left_out_by_edit"
    LEFT_OUT_WHILE_PAUSED = "left_out_while_paused"
    OVERLAP_IN_PROGRESS = "overlap_in_progress"
    OVERLAP_AWAITING_APPROVAL = "overlap_awaiting_approval"
    OVERLAP_SUSPENDED = "overlap_suspended"
    EXCLUDED = "excluded"
    ALREADY_DONE = "already_done"
    BROKEN = "broken"
    DISABLED = "disabled"
    ENDED = "ended"
    NOT_STARTED_YET = "not_started_yet"
    NOT_DUE = "not_due"
    NO_RECORD = "no_record"
    BEFORE_CREATION = "before_creation"
    TO_COME = "to_come"
    JUST_DUE = "just_due"
    HELD_UP = "held_up"

    # a run
    QUEUED = "queued"
    DUE = "due"
    NOBODY_LAUNCHES = "nobody_launches"
    NOBODY_FIRES = "nobody_fires"
    BROKER_DOWN = "broker_down"
    HINT_ON_ITS_WAY = "hint_on_its_way"
    HINT_NOT_TAKEN = "hint_not_taken"
    QUIET_HOURS = "quiet_hours"
    STARTS_LATER = "starts_later"
    DEFERRED = "deferred"
    RETRY_WAITING = "retry_waiting"
    RUNNING = "running"
    CANCEL_ASKED = "cancel_asked"
    LEASE_LOST = "lease_lost"
    WAITING_FOR_QUOTA = "waiting_for_quota"
    WAITING_FOR_PROVIDER = "waiting_for_provider"
    WAITING_ITS_TURN = "waiting_its_turn"
    NEED_ABOVE_LIMIT = "need_above_limit"
    RESUME_DELAYED = "resume_delayed"
    HELD = "held"
    RESUMING = "resuming"
    AWAITING_APPROVAL = "awaiting_approval"
    SUSPENDED = "suspended"
    DONE = "done"
    FAILED = "failed"
    POISON = "poison"
    GIVEN_UP = "given_up"
    CANCELLED = "cancelled"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class RowRef:
    """A row that shows what is said: which table (`schedule`, `fire`, `run`, `attempt`, …), and its id."""

    kind: str
    id: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """An answer to "why did this run, or not".

    Attributes:
        answer: one or two sentences; times in them are local to `zone`.
        waits_for: what has to come before it goes on.
        held_by: who has it now: a worker and its process.
        next_step: what happens next, without a full stop: `next_at`, where it is known, belongs behind it.
        rows: what shows it, the most telling first.
        run: what became of the run that the due time opened.
    """

    situation: Situation
    answer: str
    zone: str = "UTC"
    waits_for: str = ""
    held_by: str = ""
    next_step: str = ""
    next_at: datetime | None = None
    rows: tuple[RowRef, ...] = ()
    run: "Explanation | None" = None

    def chain(self) -> "Iterator[Explanation]":
        """Yield the answer, and the one about its run."""
        yield self
        if self.run is not None:
            yield from self.run.chain()

    def as_json(self) -> dict[str, Any]:
        """Return the answer for programs; instants in UTC."""
        return {
            "situation": str(self.situation),
            "answer": self.answer,
            "waits_for": self.waits_for,
            "held_by": self.held_by,
            "next_step": self.next_step,
            "next_at": self.next_at.isoformat() if self.next_at else None,
            "rows": [{"kind": row.kind, "id": row.id} for row in self.rows],
            "run": self.run.as_json() if self.run else None,
        }


def next_in_words(explanation: Explanation, now: datetime) -> str:
    """Return what happens next as a sentence, its time by the clocks of the explanation's zone."""
    at = explanation.next_at
    if not explanation.next_step or at is None:
        return closed(explanation.next_step) if explanation.next_step else ""
    said = {"step": explanation.next_step, "at": wording.local(at, explanation.zone), "from_now": from_now(at, now)}
    return _("%(step)s at %(at)s (%(from_now)s).") % said


def from_now(at: datetime, now: datetime) -> str:
    """Return how far an instant is away: `in 5 min`, `5 min ago`."""
    if abs(at - now) < timedelta(seconds=1):
        return _("now")
    if at > now:
        return _("in %(span)s") % {"span": wording.duration(at - now)}
    return _("%(span)s ago") % {"span": wording.duration(now - at)}
