"""Mutations of the scripts of quotas.ratelimit: which slot a call gets, when it is refused, and what is given back."""

from collections.abc import Callable
from functools import partial

from tests.mutations import Mutation, Subject


def _of(script: str) -> Callable[..., Mutation]:
    return partial(Mutation, f"quotas/ratelimit/scripts/{script}.lua")


_shared, _book, _back, _left = _of("shared"), _of("book"), _of("give_back"), _of("calls_left")

SUBJECT = Subject(
    tests=(
        "tests/quotas/ratelimit/test_booking.py",
        "tests/quotas/ratelimit/test_giving_back.py",
        "tests/quotas/ratelimit/test_left.py",
        "tests/quotas/ratelimit/test_keeping.py",
        "tests/quotas/ratelimit/test_waiting.py",
        "tests/quotas/ratelimit/test_clients.py",
        "tests/quotas/ratelimit/test_model.py",
    ),
    mutations=(
        # the clock only goes forward
        _shared(
            "if server + was_ahead <= state.now then",
            "if server + was_ahead < state.now then",
            accepted="no server runs two scripts within one microsecond",
        ),
        _shared("  if server + was_ahead <= state.now then state.ahead = state.now + 1 - server end\n", ""),
        _shared("state.now = server + state.ahead", "state.now = server"),
        _shared("return state.ahead ~= was_ahead", "return false"),
        _shared("  redis.call('SET', KEYS[key], cmsgpack.pack(state) .. before, 'KEEPTTL')\n", ""),
        _shared("cmsgpack.pack(state) .. before, 'KEEPTTL'", "cmsgpack.pack(state), 'KEEPTTL'"),
        # the windows
        _shared("if window.patience >= 0 then", "if true then"),
        _shared("if window.patience >= 0 then", "if false then"),
        _shared(
            "if window.patience >= 0 then",
            "if window.patience > 0 then",
            accepted="a step of a pace is 100 microseconds at least, and the patience three quarters of it",
        ),
        _shared("window.pace.next >= now - window.patience", "window.pace.next >= now"),
        _shared("window.pace and window.pace.next >= now - window.patience", "window.pace"),
        _shared("slot_of(window, window.limit - cost)", "slot_of(window, window.limit)"),
        _shared("slot_of(window, window.limit - cost)", "slot_of(window, window.limit - 1)"),
        _shared("math.max(at, in_the_way + window.length)", "in_the_way + window.length"),
        _shared("math.max(at, in_the_way + window.length)", "at"),
        _shared("local slot = state.slot\n", "local slot = 0\n"),
        _shared("slot = math.max(slot, earliest(window, cost, state.now))", "slot = earliest(window, cost, state.now)"),
        _shared("if index < taken then return window.taken[taken - index] end", ""),
        _shared("'LINDEX', window.log, index - taken)", "'LINDEX', window.log, index)"),
        # the pace
        _shared("(pace.next == slot and pace.rest or 0)", "0"),
        _shared("(pace.next == slot and pace.rest or 0)", "pace.rest"),
        _shared("cost * (length % limit)", "length % limit"),
        _shared("slot + cost * math.floor(length / limit)", "slot + math.floor(length / limit)"),
        _shared(" + math.floor(rest / limit)", ""),
        _shared("pace.rest = rest % limit", "pace.rest = 0"),
        # booked
        _book("if max_wait >= 0 and wait > max_wait then", "if wait > max_wait then"),
        _book("wait > max_wait then", "wait >= max_wait then"),
        _book("if max_wait >= 0 and wait > max_wait then", "if false then"),
        _book("  if set_back then keep_clock(1, state, before) end\n", ""),
        _book("state.token, state.slot = state.now, slot", "state.token = state.now"),
        _book("state.token, state.slot = state.now, slot", "state.slot = slot"),
        _book("for call = 1, cost do", "for call = 1, 1 do"),
        _book("for first = 1, cost, 1000 do", "for first = 1, cost, 1001 do"),
        _book("local needed = window.limit + cost", "local needed = window.limit"),
        _book("if length > needed + SPARE then", "if false then"),
        _book("if length > needed + SPARE then", "if true then"),
        _book("redis.call('LTRIM', window.log, 0, needed - 1)", "redis.call('LTRIM', window.log, 0, 0)"),
        _book("  redis.call('PEXPIRE', window.log, kept_for)\n", ""),
        _book("lifetime(wait + window.length, 1)", "lifetime(window.length, 1)"),
        _book("lifetime(wait + window.length, 1)", "lifetime(wait, 1)"),
        _book("  if window.pace then move_on(window, slot, cost) end\n", ""),
        _book("lifetime(wait + longest, 2)", "lifetime(wait + longest, 1)"),
        _book("lifetime(wait + longest, 2)", "lifetime(longest, 2)"),
        _book("longest = math.max(longest, window.length)", "longest = window.length"),
        _book("cmsgpack.pack(state) .. text", "cmsgpack.pack(state)"),
        # given back
        _back("if state.token ~= token then return 0 end\n", ""),
        _back("restored.now, restored.ahead = state.now, state.ahead\n", ""),
        _back("restored.token = 0 -- what", "-- what"),
        _back("  redis.call('SET', KEYS[1], cmsgpack.pack(restored), 'KEEPTTL')\n".strip() + "\n", ""),
        _back("'LTRIM', KEYS[at], cost, -1)", "'LTRIM', KEYS[at], 1, -1)"),
        _back("for at = 2, #KEYS do", "for at = 2, 2 do"),
        # counted
        _left("if slot >= over then return count end", "if slot > over then return count end"),
        _left(
            "    state.slot = slot\n", "", accepted="of calls that count for one each no window's earliest goes back"
        ),
        _left("      window.taken[#window.taken + 1] = slot\n", ""),
        _left("      if window.pace then move_on(window, slot, 1) end\n", ""),
        _left("if tick(state) then keep_clock(key, state, before) end", "tick(state)"),
        _left("for count = 0, enough - 1 do", "for count = 0, enough do", accepted="both ways it says enough"),
    ),
)
