"""The token of one account, kept in Redis beside the account's other keys, for all pollers that ask the account.

It is encrypted there like a secret in the database: for as long as it holds it does all that the account's credentials
do, and what is in Redis stands in its snapshots, at its replicas, and in MONITOR. One that cannot be read, because the
key was changed, or that was fetched with other credentials, is as good as none.
"""

import asyncio
import hashlib
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import uuid4

from redis.asyncio import Redis
from redis.exceptions import RedisError

from project.kit.secrets import Secret, UnreadableSecret
from scheduler.polling.calling import AWAY_SECONDS
from scheduler.polling.carriers.base import Busy
from scheduler.polling.carriers.tokens import Fetch, Token
from scheduler.polling.queue.keys import key_of

logger = logging.getLogger(__name__)

# Whoever fetches and is killed holds the others up for so long; a fetch takes less, its waiting at the gate included.
FETCH_LEASE_SECONDS = 60.0
# So often whoever waits looks whether there is a token by now.
LOOK_SECONDS = 0.05

# Whoever lost its lease keeps nothing: the token of its successor is the younger one, which ended its own.
_KEEP = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[3] == '' then redis.call('SET', KEYS[2], ARGV[2]) else redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3]) end
return 1
"""
_RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class SharedToken:
    """See carriers.tokens.TokenStore.

    Args:
        access: what the token is fetched with, as JSON: settings and credentials.
    """

    def __init__(self, redis: Redis, account_id: int, access: Any) -> None:
        self._redis = redis
        self._token, self._fetching = key_of(account_id, "token"), key_of(account_id, "token-fetching")
        self._access = hashlib.sha256(json.dumps(access, sort_keys=True).encode()).hexdigest()
        self._keep, self._release = redis.register_script(_KEEP), redis.register_script(_RELEASE)

    async def another(self, refused: str, fetch: Fetch) -> Token:
        """Return the token that is kept, unless it is the refused one; otherwise a fetched one."""
        try:
            return await self._another(refused, fetch)
        except RedisError as error:
            logger.warning("an account's token waits, for Redis is away: %s", type(error).__name__)
            raise Busy(AWAY_SECONDS) from None

    async def _another(self, refused: str, fetch: Fetch) -> Token:
        caller = uuid4().hex
        while True:
            kept = await self._kept()
            if kept is not None and kept.text != refused:
                return kept
            if await self._redis.set(self._fetching, caller, nx=True, px=int(FETCH_LEASE_SECONDS * 1000)):
                return await self._fetched(caller, refused, fetch)
            await asyncio.sleep(LOOK_SECONDS)

    async def _fetched(self, caller: str, refused: str, fetch: Fetch) -> Token:
        try:
            kept = await self._kept()
            if kept is not None and kept.text != refused:
                return kept  # somebody was done since we looked
            token = await fetch()
            lasts = "" if token.seconds is None else max(int(token.seconds * 1000), 1)
            await self._keep([self._fetching, self._token], [caller, self._sealed(token.text), lasts])
            return token
        finally:
            with suppress(RedisError):  # then its lease ends by itself
                await self._release([self._fetching], [caller])

    async def _kept(self) -> Token | None:
        async with self._redis.pipeline(transaction=True) as pipeline:
            pipeline.get(self._token)
            pipeline.pttl(self._token)
            sealed, left = await pipeline.execute()
        if sealed is None:
            return None
        kept = _opened(sealed)
        if kept.get("access") != self._access:
            return None
        return Token(kept["token"], left / 1000 if left >= 0 else None)

    def _sealed(self, token: str) -> str:
        return Secret.of(json.dumps({"token": token, "access": self._access})).sealed


def _opened(sealed: bytes) -> Mapping[str, Any]:
    try:
        kept: Mapping[str, Any] = json.loads(Secret(sealed.decode()).reveal())
    except UnreadableSecret:
        return {}
    return kept
