"""Mutations of the small scripts of pollers: who may call, who fetches a token, and how many cards they hold."""

from functools import partial

from tests.mutations import Mutation, Subject

_calling = partial(Mutation, "scheduler/polling/calling.py")
_sharing = partial(Mutation, "scheduler/polling/sharing.py")
_capacity = partial(Mutation, "scheduler/polling/capacity.py")

SUBJECT = Subject(
    tests=(
        "tests/scheduler/polling/test_calling.py",
        "tests/scheduler/polling/test_sharing.py",
        "tests/scheduler/polling/test_demand.py",
        "tests/scheduler/polling/test_dispatching.py",
        "tests/scheduler/polling/test_poller.py",
    ),
    mutations=(
        _calling("if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end\n", ""),
        _calling("redis.call('ZCARD', KEYS[1]) >= tonumber", "redis.call('ZCARD', KEYS[1]) > tonumber"),
        _calling("redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)\n", ""),
        _calling("redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])\n", ""),
        _calling("redis.call('PEXPIRE', KEYS[1], ARGV[3])\n", ""),
        _sharing("if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end\n", ""),
        _sharing("if ARGV[3] == '' then redis", "if true then redis"),
        _sharing("if redis.call('GET', KEYS[1]) == ARGV[1] then return redis", "if true then return redis"),
        _sharing("self._fetching, caller, nx=True, px", "self._fetching, caller, px"),
        _capacity("redis.call('EXPIRE', KEYS[1], ARGV[3])\n", ""),
        _capacity("if tonumber(till) > now then", "if true then"),
        _capacity("    redis.call('HDEL', KEYS[1], said[at])\n", ""),
    ),
)
