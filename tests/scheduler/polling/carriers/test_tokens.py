"""A token is fetched by one call for all who wait, and whoever gives up waiting takes it from nobody."""

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar
from typing import Any

import pytest

from scheduler.polling.carriers import tokens
from scheduler.polling.carriers.base import Busy
from scheduler.polling.carriers.tokens import Token, TokenKeeper


class Endpoint:
    """Gives tokens t1, t2 …, when it is let."""

    def __init__(self, seconds: float | None = None, *, failing: bool = False) -> None:
        self.asked, self._seconds, self._failing = 0, seconds, failing
        self.may_answer = asyncio.Event()

    async def fetch(self) -> Token:
        self.asked += 1
        await self.may_answer.wait()
        if self._failing:
            raise Busy(1)
        return Token(f"t{self.asked}", self._seconds)


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


def test_all_who_wait_get_the_token_of_one_call() -> None:
    async def wait_together() -> None:
        endpoint = Endpoint()
        keeper = TokenKeeper(endpoint.fetch)
        endpoint.may_answer.set()

        assert await asyncio.gather(*(keeper.current() for _ in range(20))) == ["t1"] * 20
        assert endpoint.asked == 1

    run(wait_together())


def test_whoever_gives_up_waiting_takes_it_from_nobody() -> None:
    async def give_up() -> None:
        endpoint = Endpoint()
        keeper = TokenKeeper(endpoint.fetch)
        first, second = asyncio.create_task(keeper.current()), asyncio.create_task(keeper.current())
        while not endpoint.asked:
            await asyncio.sleep(0)
        first.cancel()
        endpoint.may_answer.set()

        assert await second == "t1"
        assert endpoint.asked == 1

    run(give_up())


def test_many_who_were_refused_the_same_token_renew_it_once() -> None:
    async def be_refused() -> None:
        endpoint = Endpoint()
        endpoint.may_answer.set()
        keeper = TokenKeeper(endpoint.fetch)
        await keeper.current()

        assert await asyncio.gather(*(keeper.instead_of("t1") for _ in range(20))) == ["t2"] * 20
        assert await keeper.instead_of("t1") == "t2"  # who comes late gets what is new by now
        assert endpoint.asked == 2

    run(be_refused())


def test_all_who_wait_are_told_that_none_came_and_the_next_one_asks_anew() -> None:
    async def fail() -> None:
        endpoint = Endpoint(failing=True)
        endpoint.may_answer.set()
        keeper = TokenKeeper(endpoint.fetch)

        told = await asyncio.gather(*(keeper.current() for _ in range(3)), return_exceptions=True)
        assert [type(each) for each in told] == [Busy] * 3
        assert endpoint.asked == 1
        with pytest.raises(Busy):
            await keeper.current()
        assert endpoint.asked == 2

    run(fail())


@pytest.mark.parametrize(("lifetime", "used_for"), [(3600, 3570), (60, 30), (10, 5)])
def test_a_token_is_not_used_until_its_very_end(
    monkeypatch: pytest.MonkeyPatch, lifetime: float, used_for: float
) -> None:
    instants = iter([0.0, used_for - 0.1, used_for, used_for])  # it is fetched; asked for; asked for and fetched
    monkeypatch.setattr(tokens, "elapsed", lambda: next(instants))

    async def use() -> None:
        endpoint = Endpoint(lifetime)
        endpoint.may_answer.set()
        keeper = TokenKeeper(endpoint.fetch)

        assert [await keeper.current() for _ in range(3)] == ["t1", "t1", "t2"]

    run(use())


def test_a_renewal_takes_nothing_along_from_the_step_that_began_it() -> None:
    async def fetch() -> Token:
        return Token(f"step {STEP.get('of nobody')}")

    async def begin() -> None:
        STEP.set("of the first")

        assert await TokenKeeper(fetch).current() == "step of nobody"

    run(begin())


STEP: ContextVar[str] = ContextVar("step")
