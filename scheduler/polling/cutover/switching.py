"""From one way of deciding to the other, step by step, each of which may be repeated and begun by two at once.

While a cut-over is under way nobody claims, and both structures are written. Each phase leaves what it found until the
next is sure: the former side is emptied only after the new one is complete. A crash leaves the row as it was, and the
next scan goes on.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils.translation import gettext as _
from redis import Redis

from project.kit.clock import elapsed
from scheduler.polling import system_settings
from scheduler.polling.cutover import carrier_side, legacy_side, standing
from scheduler.polling.models import Cutover
from scheduler.polling.states import CutoverPhase
from scheduler.polling.system_settings import Mode

logger = logging.getLogger(__name__)

# Whoever scans has other scans to do: a step that takes longer goes on with the next scan.
WITHIN = timedelta(seconds=5)


class Side(Protocol):
    """What a cut-over does with the structure of one of the ways."""

    def close(self, redis: Redis) -> None:
        """Let nothing be claimed of it, nor opened by whoever builds it just now."""

    def at_work(self, redis: Redis) -> int:
        """Return how many cards are worked on."""

    def build(self, redis: Redis, *, now: datetime, within: timedelta) -> int:
        """Build what is not there; return how many parts remain."""

    def is_complete(self, redis: Redis) -> bool:
        """Tell whether all of it is there, and open."""

    def mend(self, redis: Redis, *, now: datetime) -> int:
        """Compare it with the rows, and return how many cards were wrong."""

    def empty(self, redis: Redis) -> None:
        """Forget its cards."""

    def astray(self, redis: Redis) -> int:
        """Return how many cards too many or too few there are."""

    def held(self, redis: Redis) -> int:
        """Return how many cards there are."""


SIDES: dict[Mode, Side] = {Mode.CARRIER: carrier_side, Mode.LEGACY: legacy_side}


def start(wanted: Mode, *, actor: str, now: datetime) -> Cutover:
    """Begin a cut-over; the scan leads it through its phases.

    Raises:
        ValidationError: one is under way, or that way decides already.
    """
    held = standing.now_holds()
    if held.wanted is None and held.mode is wanted:
        raise ValidationError(_("The way “%(wanted)s” decides already.") % {"wanted": wanted})
    try:
        with transaction.atomic():
            return Cutover.objects.create(wanted=wanted.value, actor=actor, started_at=now, phase_since=now)
    except IntegrityError:
        raise ValidationError(_("A cut-over is under way already. Wait until it is done.")) from None


def under_way() -> Cutover | None:
    """Return the cut-over that is under way."""
    return Cutover.objects.filter(ended_at__isnull=True).first()


@dataclass(frozen=True, slots=True)
class _Step:
    """What a phase did.

    Attributes:
        note: what it waits for; empty: it is done.
    """

    note: str = ""
    progress: dict[str, int] = field(default_factory=dict)


def advance(redis: Redis, *, now: datetime, within: timedelta = WITHIN) -> Cutover | None:
    """Lead the cut-over that is under way as far as it can go; None: there is none.

    Raises:
        redis.RedisError, DatabaseError: it goes on with the next call.
    """
    until = elapsed() + within.total_seconds()
    while (row := under_way()) is not None:
        went_on = _noted(row, _STEPS[CutoverPhase(row.phase)](redis, Mode(row.wanted), now, row), now)
        if not went_on or elapsed() >= until:
            return Cutover.objects.get(pk=row.pk)
    return None


def _noted(row: Cutover, step: _Step, now: datetime) -> bool:
    """Write what a phase did; True: the next one can begin.

    Whoever was slower than another changes nothing.
    """
    progress = {**row.progress, **step.progress}
    mine = Cutover.objects.filter(pk=row.pk, version=row.version)
    if step.note:
        mine.exclude(note=step.note, progress=progress).update(
            note=step.note, progress=progress, version=F("version") + 1
        )
        return False
    following = _PHASES[_PHASES.index(CutoverPhase(row.phase)) + 1]
    ended_at = now if following is CutoverPhase.DONE else None
    with transaction.atomic():
        was_first = mine.update(
            phase=following, phase_since=now, ended_at=ended_at, note="", progress=progress, version=F("version") + 1
        )
        if was_first and ended_at is not None:
            system_settings.set_mode(Mode(row.wanted), actor=row.actor, now=now)
    logger.warning("cut-over to %s: %s", row.wanted, following)
    return True


# --- the phases ------------------------------------------------------------------------------------------------


def _stop(redis: Redis, wanted: Mode, now: datetime, row: Cutover) -> _Step:
    """Close both sides in Redis: a dispatcher that still believes in one, or a rebuild under way, gets nothing."""
    for side in SIDES.values():
        side.close(redis)
    return _Step()


def _drain(redis: Redis, wanted: Mode, now: datetime, row: Cutover) -> _Step:
    at_work = sum(side.at_work(redis) for side in SIDES.values())
    if at_work:
        return _Step(f"{at_work:,} cards are worked on: that ends, or their leases do.", {"at_work": at_work})
    return _Step(progress={"at_work": 0})


def _rebuild(redis: Redis, wanted: Mode, now: datetime, row: Cutover) -> _Step:
    side = SIDES[wanted]
    remaining = side.build(redis, now=now, within=WITHIN)
    progress = {"cards": side.held(redis), "to_build": remaining}
    return _Step("The other side is being built." if remaining else "", progress)


def _prove(redis: Redis, wanted: Mode, now: datetime, row: Cutover) -> _Step:
    """Mend what differs from the rows, empty the former side, and look whether each polled card is in one queue."""
    side, former = SIDES[wanted], SIDES[standing.other(wanted)]
    if side.build(redis, now=now, within=WITHIN):
        return _Step(_LOST)
    mended = row.progress.get("mended", 0) + side.mend(redis, now=now)
    former.empty(redis)
    astray, held, twice = side.astray(redis), side.held(redis), former.held(redis)
    progress = {"mended": mended, "cards": held, "astray": astray, "twice": twice}
    if not side.is_complete(redis):
        return _Step(_LOST, progress)
    return _Step(f"{astray + twice:,} cards are not in exactly one queue yet." if astray or twice else "", progress)


_LOST = "What was built is lost, and is built again."
_PHASES = tuple(CutoverPhase)
_STEPS: dict[CutoverPhase, Callable[[Redis, Mode, datetime, Cutover], _Step]] = {
    CutoverPhase.STOPPING: _stop,
    CutoverPhase.DRAINING: _drain,
    CutoverPhase.REBUILDING: _rebuild,
    CutoverPhase.PROVING: _prove,
}
