"""One token of an account for all pollers: fetched by one of them at a time, kept sealed, and never after its end."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from project.kit.secrets import Secret
from scheduler.polling import connecting, params, sharing
from scheduler.polling.accounts import Account
from scheduler.polling.carriers.base import Busy, CarrierError
from scheduler.polling.carriers.sessions import open_session
from scheduler.polling.carriers.simulator import AccountPlan, simulated_carrier
from scheduler.polling.carriers.tokens import Fetch, Token, TokenKeeper
from scheduler.polling.gateways import Gateways
from scheduler.polling.queue.keys import key_of
from scheduler.polling.sharing import SharedToken
from scheduler.polling.states import ErrorClass
from tests.scheduler.polling.carriers.dialects.onelink import ONELINK
from tests.scheduler.polling.carriers.gateways import card
from tests.scheduler.polling.loops import with_redis

ACCOUNT = 987_654
ACCESS = {"credentials": "as they are"}


@pytest.fixture(autouse=True)
def _nothing_is_kept() -> Iterator[None]:
    yield
    connecting.client().delete(key_of(ACCOUNT, "token"), key_of(ACCOUNT, "token-fetching"))


class Carrier:
    """Gives tokens t1, t2 …; each of them ends the one before."""

    def __init__(self, seconds: float | None = 3600) -> None:
        self.given, self._seconds = 0, seconds

    async def fetch(self) -> Token:
        self.given += 1
        number = self.given
        await asyncio.sleep(0)
        return Token(f"token-{number}", self._seconds)

    def accepts(self, token: str) -> bool:
        return token == f"token-{self.given}"


def keeper(redis: Redis, fetch: Fetch, access: Any = ACCESS) -> TokenKeeper:
    """Return the keeper of one process."""
    return TokenKeeper(fetch, SharedToken(redis, ACCOUNT, access))


def test_of_many_processes_one_fetches_and_all_get_its_token() -> None:
    carrier = Carrier()

    async def act(redis: Redis) -> list[str]:
        keepers = [keeper(redis, carrier.fetch) for _ in range(8)]
        return await asyncio.gather(*(each.current() for each in keepers for _ in range(3)))

    assert with_redis(act) == ["token-1"] * 24
    assert carrier.given == 1


def test_processes_that_renew_in_turn_never_refuse_each_others_token_for_long() -> None:
    carrier = Carrier()

    async def call(own: TokenKeeper) -> int:
        """Make a call, renewed once and retried once, and return how often it was refused."""
        token = await own.current()
        if carrier.accepts(token):
            return 0
        return 1 if carrier.accepts(await own.instead_of(token)) else 2

    async def act(redis: Redis) -> list[list[int]]:
        keepers = [keeper(redis, carrier.fetch) for _ in range(4)]
        rounds = [[await call(own) for own in keepers]]
        carrier.given += 1  # somebody else fetched a token, which ended ours
        rounds.append(list(await asyncio.gather(*(call(own) for own in keepers))))
        rounds.append([await call(own) for own in keepers])
        return rounds

    first, after, then = with_redis(act)

    assert first == then == [0] * 4
    assert after == [1] * 4
    assert carrier.given == 3  # ours, the other's, and one instead of it


def test_a_token_stands_sealed_in_redis_and_no_longer_than_it_is_used() -> None:
    with_redis(lambda redis: keeper(redis, Carrier(seconds=100).fetch).current())

    kept = connecting.client().get(key_of(ACCOUNT, "token"))
    assert kept is not None
    assert b"token-1" not in kept
    assert 0 < connecting.client().pttl(key_of(ACCOUNT, "token")) <= 70_000
    assert connecting.client().exists(key_of(ACCOUNT, "token-fetching")) == 0


def test_a_token_without_an_end_is_kept_without_one() -> None:
    with_redis(lambda redis: keeper(redis, Carrier(seconds=None).fetch).current())

    assert connecting.client().pttl(key_of(ACCOUNT, "token")) == -1


def test_a_token_of_other_credentials_or_an_unreadable_one_is_none(settings: Settings) -> None:
    carrier = Carrier()

    def fetched_by(access: Any) -> str:
        return with_redis(lambda redis: keeper(redis, carrier.fetch, access).current())

    assert [fetched_by(ACCESS), fetched_by(ACCESS), fetched_by({"credentials": "new"})] == [
        "token-1",
        "token-1",
        "token-2",
    ]
    settings.TIDELINE_SECRETS_KEYS = ["another key that is long enough to be one"]
    assert fetched_by({"credentials": "new"}) == "token-3"


def test_who_fetches_in_vain_holds_up_nobody() -> None:
    async def refuse() -> Token:
        raise CarrierError(ErrorClass.AUTH, "No.")

    async def act(redis: Redis) -> str:
        with pytest.raises(CarrierError):
            await keeper(redis, refuse).current()
        return await keeper(redis, Carrier().fetch).current()

    assert with_redis(act) == "token-1"


@pytest.mark.parametrize("seconds", [3600, None])
def test_who_stands_still_while_it_fetches_holds_up_the_others_for_its_lease_and_keeps_nothing_later(
    monkeypatch: pytest.MonkeyPatch, seconds: float | None
) -> None:
    monkeypatch.setattr(sharing, "FETCH_LEASE_SECONDS", 0.1)
    answered = asyncio.Event()

    async def late() -> Token:
        await answered.wait()
        return Token("too late", seconds)

    async def act(redis: Redis) -> list[str]:
        slow = asyncio.create_task(keeper(redis, late).current())
        while not await redis.exists(key_of(ACCOUNT, "token-fetching")):
            await asyncio.sleep(0)
        meanwhile = await keeper(redis, Carrier().fetch).current()
        answered.set()
        await slow
        return [meanwhile, await keeper(redis, Carrier().fetch).current()]

    assert with_redis(act) == ["token-1", "token-1"]


def test_without_redis_a_token_waits_and_nothing_has_failed() -> None:
    async def act(_: Redis) -> None:
        async with Redis(port=1, retry=Retry(NoBackoff(), 0)) as away:
            with pytest.raises(Busy):
                await keeper(away, Carrier().fetch).current()

    with_redis(act)


# --- as pollers ask --------------------------------------------------------------------------------------------


def test_two_pollers_ask_an_account_with_one_token(settings: Settings) -> None:
    with simulated_carrier(AccountPlan(latency=0), dialect=ONELINK.dialect) as carrier:
        settings.TIDELINE_ALLOWED_HOSTS_INWARD = [carrier.place]
        credentials = Secret.of(json.dumps(ONELINK.credentials(carrier.plan())))
        said = {"base_url": f"{carrier.url}/main"}
        account = Account(ACCOUNT, "an account", "onelink", said, credentials, params.resolved(None), 0)

        async def read(account_id: int) -> Account:
            return account

        async def act(redis: Redis) -> None:
            async with open_session() as http:
                for gateways in [Gateways(redis, http, read) for _ in range(2)] * 2:
                    access = await gateways.to(ACCOUNT, max_wait=10)
                    assert access is not None
                    await access.gateway.card_status(card(1))

        with_redis(act)
        assert carrier.stats()["calls"] == {"token": 1, "status": 4}
