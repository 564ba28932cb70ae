"""The claims that a poller holds: what is renewed, when it is lost, and what a Redis that is away changes of that."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as RedisSlow

from scheduler.polling.leases import Held, Leases
from scheduler.polling.queue import Call, Claim
from scheduler.polling.states import CheckType
from tests.scheduler.polling.gateways import NO_FAILURES

Answer = list[bool] | Exception


class ScriptedQueue:
    """Answers each round trip with what it was given, in turn, and keeps which scripts were asked for."""

    def __init__(self, *answers: Answer | list[Answer]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def ask(self, call: Call[Any]) -> Any:
        return (await self.perform([call]))[0]

    async def perform(self, calls: Sequence[Call[Any]]) -> Any:
        if not calls:
            return []
        self.asked += [call.script for call in calls]
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer[0], list | Exception) else [answer]


class Time:
    """A clock that stands until it is moved."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


def claim(card_id: int, account_id: int = 1) -> Claim:
    return Claim(account_id, card_id, 100 + card_id, (CheckType.USAGE,), NO_FAILURES)


def leases_on(time: Time, *answers: Answer | list[Answer]) -> tuple[Leases, ScriptedQueue]:
    """Return leases of ten seconds that are renewed each two, over a queue that answers so."""
    queue: Any = ScriptedQueue(*answers)
    return Leases(queue, lease_seconds=10, renew_seconds=2, monotonic=time), queue


def taken(leases: Leases, *claims: Claim) -> list[Held]:
    return asyncio.run(leases.take(claims[0].account_id, claims))


def looks(leases: Leases, time: Time, *seconds: float) -> None:
    """Look again and again, each time so many seconds later."""
    for passed in seconds:
        time.now += passed
        asyncio.run(leases.keep())


def test_what_was_renewed_a_moment_ago_is_left_alone_and_what_is_old_is_renewed(time: Time) -> None:
    leases, queue = leases_on(time, [True], [True])
    (held,) = taken(leases, claim(1))
    looks(leases, time, 1.9, 0.1, 1.9)
    assert queue.asked == ["start", "renew"]
    assert held.until == time.now - 1.9 + 10


def test_case_5_after_a_renewal_that_failed_the_next_look_tries_again_and_the_claim_is_kept(time: Time) -> None:
    leases, queue = leases_on(time, [True], RedisSlow("slow"), RedisSlow("slow"), [True])
    (held,) = taken(leases, claim(1))
    looks(leases, time, 2, 1, 1)
    assert queue.asked == ["start", "renew", "renew", "renew"]
    time.now += 9.9
    assert not held.is_lost


def test_a_claim_that_could_not_be_renewed_until_its_lease_ended_is_lost_for_good(time: Time) -> None:
    leases, queue = leases_on(time, [True], *[RedisSlow("slow")] * 2)
    (held,) = taken(leases, claim(1))
    looks(leases, time, 9, 1, 1)
    assert held.lost
    assert queue.asked.count("renew") == 2


def test_a_process_that_stood_still_for_a_lease_knows_that_its_claims_are_lost_before_it_looks(time: Time) -> None:
    leases, _ = leases_on(time, [True])
    (held,) = taken(leases, claim(1))
    time.now += 10
    assert held.is_lost


def test_case_14_what_was_let_go_is_not_renewed(time: Time) -> None:
    leases, queue = leases_on(time, [True])
    taken(leases, claim(1))
    leases.let_go([claim(1)])
    looks(leases, time, 5)
    assert queue.asked == ["start"]


def test_a_claim_that_is_anothers_by_now_is_lost_alone(time: Time) -> None:
    leases, _ = leases_on(time, [True, True, False], [True, False])
    one, other = taken(leases, claim(1), claim(2), claim(3))
    looks(leases, time, 2)
    assert (one.is_lost, other.is_lost) == (False, True)


def test_an_account_that_redis_refuses_keeps_none_of_the_others_from_being_renewed(time: Time) -> None:
    answers: list[Answer] = [ResponseError("WRONGTYPE"), [True]]
    leases, _ = leases_on(time, [True], [True], answers)
    (broken,), (fine,) = taken(leases, claim(1)), taken(leases, claim(2, account_id=2))
    looks(
        leases,
        time,
        9,
    )
    time.now += 1
    assert (broken.is_lost, fine.is_lost) == (True, False)


def test_case_16_each_message_and_each_process_holds_its_claims_under_a_name_of_its_own(time: Time) -> None:
    one, _ = leases_on(time, [True], [True])
    other, _ = leases_on(time, [True])
    held = [*taken(one, claim(1)), *taken(one, claim(1)), *taken(other, claim(1))]
    assert len({each.executor for each in held}) == 3


def test_what_cannot_be_given_back_is_held_no_more(time: Time, caplog: pytest.LogCaptureFixture) -> None:
    leases, _ = leases_on(time, [True], RedisSlow("slow"))
    (held,) = taken(leases, claim(1))
    asyncio.run(leases.give_back_all())
    assert (held.is_lost, len(leases)) == (True, 0)
    assert "1 cards are free again when their leases end: TimeoutError" in caplog.text
