"""The rules of jobs that spend: they charge, hold and settle; what their quotas refuse pauses them."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from quotas.refusals import NeverSatisfiable, PauseNeeded, QuotaError
from scheduler import executing
from scheduler.states import AttemptOutcome
from scheduler.transitions import Worker
from tests.scheduler.machine.granting import AMOUNTS, KEYS
from tests.scheduler.machine.house import WORKERS, Work, chosen
from tests.scheduler.machine.planning import AWAY, PICK
from tests.scheduler.machine.working import Working

Granted = TypeVar("Granted")

MOST_CHARGES = 6


class Spending(Working):
    """What the jobs at work do with the quotas, also those that do not know yet that their run was taken from them."""

    @precondition(lambda self: self.works)
    @rule(pick=PICK, key=KEYS, amount=AMOUNTS, refund_on_failure=st.booleans())
    def charge(self, pick: int, key: str, amount: int, refund_on_failure: bool) -> None:
        self.tick()
        work = chosen(self.works, pick)
        self._ask(work, lambda: work.context.charge(key, amount, refund_on_failure=refund_on_failure))

    @rule(away=st.sampled_from(AWAY), pick=PICK, worker=st.sampled_from(WORKERS), key=KEYS, amount=AMOUNTS)
    def all_work_until_they_are_refused(
        self, away: timedelta, pick: int, worker: Worker, key: str, amount: int
    ) -> None:
        """What comes next most often: what runs spends, and what waits goes on when there is something again."""
        self.all_goes_its_usual_way(away, pick, worker)
        for work in list(self.works):
            for _ in range(MOST_CHARGES):
                self.tick()
                if self._ask(work, lambda: work.context.charge(key, amount)) is None:  # noqa: B023 - called at once
                    break

    @precondition(lambda self: self.works)
    @rule(pick=PICK, key=KEYS, amount=AMOUNTS, name=st.sampled_from(["page 1", "page 2"]))
    def charge_once_in_all_attempts(self, pick: int, key: str, amount: int, name: str) -> None:
        self.tick()
        work = chosen(self.works, pick)
        self._ask(work, lambda: work.context.charge(key, amount, idempotency_key=f"{name} {amount}"))

    @precondition(lambda self: self.works)
    @rule(pick=PICK, key=KEYS, amount=AMOUNTS, seconds=st.sampled_from([60, 3600]))
    def reserve(self, pick: int, key: str, amount: int, seconds: int) -> None:
        self.tick()
        work = chosen(self.works, pick)
        held = self._ask(work, lambda: work.context.reserve(key, amount, lease=timedelta(seconds=seconds)))
        if held is not None:
            work.held.append(held)

    @precondition(lambda self: any(work.held for work in self.works))
    @rule(pick=PICK, actual=st.integers(0, 5))
    def settle_what_is_held(self, pick: int, actual: int) -> None:
        """By less or more than was held, or late; what was freed meanwhile, with the attempt, cannot be settled."""
        self.tick()
        held = chosen([held for work in self.works for held in work.held], pick)
        with suppress(QuotaError):
            held.settle(actual)
            held.settle(actual)

    @precondition(lambda self: any(work.held for work in self.works))
    @rule(pick=PICK)
    def release_what_is_held(self, pick: int) -> None:
        self.tick()
        chosen([held for work in self.works for held in work.held], pick).release()

    def _ask(self, work: Work, ask: Callable[[], Granted]) -> Granted | None:
        """Let the job ask its quota; if that refuses, its attempt ends as `executing` ends it."""
        try:
            return ask()
        except PauseNeeded as pause:
            outcome = executing._paused(pause, work.context)
        except NeverSatisfiable as never:
            outcome = replace(executing._failed(str(never)), final=True)
        assert outcome.attempt in (AttemptOutcome.PAUSED, AttemptOutcome.FAILED)
        self.settle(work, outcome)
        return None
