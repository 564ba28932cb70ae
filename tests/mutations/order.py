"""Mutations of the scripts of scheduler.polling.queue: who claims which cards, for how long, and what ends a claim."""

from collections.abc import Callable
from functools import partial

from tests.mutations import Mutation, Subject


def _of(script: str) -> Callable[..., Mutation]:
    return partial(Mutation, f"scheduler/polling/queue/scripts/{script}.lua")


_shared, _claim, _finish, _request = _of("shared"), _of("claim"), _of("finish"), _of("request")
_release, _take, _put, _drain, _count = _of("release"), _of("take"), _of("put"), _of("drain"), _of("count")

SUBJECT = Subject(
    tests=(
        "tests/scheduler/polling/queue/test_claiming.py",
        "tests/scheduler/polling/queue/test_order.py",
        "tests/scheduler/polling/queue/test_expiring.py",
        "tests/scheduler/polling/queue/test_finishing.py",
        "tests/scheduler/polling/queue/test_holding.py",
        "tests/scheduler/polling/queue/test_priority.py",
        "tests/scheduler/polling/queue/test_requesting.py",
        "tests/scheduler/polling/queue/test_taking.py",
        "tests/scheduler/polling/queue/test_clients.py",
        "tests/scheduler/polling/queue/test_races.py",
        "tests/scheduler/polling/queue/test_machine.py",
        "tests/scheduler/polling/test_dispatching.py",
    ),
    mutations=(
        # a round: once a second, of a whole order, within the limits
        _claim("redis.call('EXISTS', READY) == 0", "false"),
        _claim("tonumber(slot or -1) == tonumber(time[1])", "false"),
        _claim("redis.call('ZCARD', QUEUE) ~= redis.call('HLEN', CARDS)", "false"),
        _claim("  redis.call('DEL', READY) -- cards were lost: the queue has to be rebuilt\n", ""),
        _claim("redis.call('HSET', STATE, 'slot', time[1])\n", ""),
        _claim("\nfree_expired()\n", "\n"),
        _claim("math.min(most, limit - redis.call('ZCARD', RUNNING))", "most"),
        _claim("math.min(most, limit - redis.call('ZCARD', RUNNING))", "limit - redis.call('ZCARD', RUNNING)"),
        _claim("limit - redis.call('ZCARD', RUNNING)", "limit"),
        _claim("if room <= 0 then", "if room < 0 then", accepted="without room both lanes are asked for no card"),
        _claim("and calls_left(10, 6, horizon, room * TYPES) or room * TYPES", "and room * TYPES or room * TYPES"),
        _claim("calls_left(10, 6, horizon, room * TYPES)", "calls_left(10, 6, horizon, room)"),
        _claim("'token', first_token + #chosen - 1", "'token', first_token"),
        _claim("math.max(tonumber(last_token or 0) + 1, now_microseconds)", "now_microseconds"),
        _claim("math.max(tonumber(last_token or 0) + 1, now_microseconds)", "tonumber(last_token or 0) + 1"),
        _claim(", 'credit', credit)", ")"),
        # what is due
        _claim("if due > 0 and due <= now or wanted > 0 and wanted <= now then", "if due > 0 and due <= now then"),
        _claim("due > 0 and due <= now or", "due <= now or"),
        _claim("due > 0 and due <= now or", "due > 0 and due < now or"),
        _claim("wanted > 0 and wanted <= now then", "wanted > 0 then"),
        _claim("wanted > 0 and wanted <= now then", "wanted <= now then"),
        _claim("if calls == 0 then return nil end\n", ""),
        _claim("has_failed or card[2 * type] > 0", "card[2 * type] > 0"),
        _claim("    bit = 2 * bit\n", ""),
        # the lanes
        _claim("'-inf', now, 'LIMIT', 0, room)", "'-inf', '+inf', 'LIMIT', 0, room)"),
        _claim("local card = known[id]", "local card = nil"),
        _claim("not card and texts[at] and not claims[at]", "not card and texts[at]"),
        _claim("urgent[next_urgent].is_chosen do", "false do"),
        _claim("regular[next_regular].is_chosen do", "false do"),
        _claim("credit = credit + share\n", "credit = credit + 100\n"),
        _claim("if credit >= 100 then", "if credit > 100 then"),
        _claim("credit = credit - 100 else", "credit = 0 else"),
        _claim("while #chosen < room and calls > 0 do", "while #chosen < room do"),
        _claim("while #chosen < room and calls > 0 do", "while calls > 0 do"),
        _claim("calls = calls - card.calls", "calls = calls - 1"),
        # claimed
        _claim("local has_come = instant > 0 and instant <= now", "local has_come = instant > 0"),
        _claim("  keep_asks(card.id, stay)\n", ""),
        _claim("  redis.call('ZREM', PRIORITY, card.id)\n  return", "  return"),
        _claim("first_token + at - 1, card.mask", "first_token, card.mask"),
        _claim("  redis.call('ZADD', QUEUE, unpack(scores))\n", ""),
        _claim("  redis.call('ZADD', RUNNING, unpack(scores))\n", ""),
        _claim("  redis.call('HINCRBY', STATE, 'claimed', #cards)\n", ""),
        # what was lost is mended
        _claim(
            "redis.call('ZRANGEBYSCORE', RUNNING, '-inf', now, 'LIMIT'",
            "redis.call('ZRANGEBYSCORE', RUNNING, '-inf', '(' .. now, 'LIMIT'",
        ),
        _claim("  give_back(expired, fields(CLAIMS, expired))\n", "  give_back(expired, {})\n"),
        _claim("'lease_expired', #expired)", "'lease_expired', 1)"),
        _claim("if ends > now then", "if true then"),
        _claim("    redis.call('ZADD', QUEUE, ends, card)\n", ""),
        _claim("    give_back({ card }, { claim })\n", ""),
        _claim("    redis.call('ZREM', QUEUE, card)\n", ""),
        _claim("    redis.call('HDEL', ASKED, card)\n", ""),
        _claim("  redis.call('ZADD', QUEUE, due_of(read_card(text)), card)\n", ""),
        _claim("  if asks then redis.call('ZADD', PRIORITY, asked_of(read_asks(asks)), card) end\n", ""),
        # instants
        _shared("if one == 0 then return other end\n", ""),
        _shared("if other == 0 then return one end\n", ""),
        _shared("return math.min(one, other)", "return math.max(one, other)"),
        _shared("return due > 0 and due or '+inf'", "return due"),
        # claims end
        _shared("  redis.call('ZREM', RUNNING, unpack(cards))\n", ""),
        _shared("  redis.call('HDEL', CLAIMS, unpack(cards))\n", ""),
        _shared("    if asked[at] then redis.call('ZADD', PRIORITY, asked_of(read_asks(asked[at])), card) end\n", ""),
        _shared("    if kept[at] then\n", "    if true then\n"),
        _shared("merged(read_asks(taken), read_asks(asked[at]))", "read_asks(taken)"),
        _shared("if taken ~= NO_ASKS then keep_asks", "if false then keep_asks"),
        _shared("  if asked_of(asks) > 0 then", "  if true then"),
        # leases are held
        _shared("claim.token == tonumber(ARGV[2 * at + 2]) and accepts", "accepts"),
        _shared(" and accepts(claim, executor) then", " then"),
        _shared("claim.executor, held[at] = executor, 1", "held[at] = 1"),
        _shared(
            "local executor, lease_end = ARGV[1], now + tonumber(ARGV[2])", "local executor, lease_end = ARGV[1], now"
        ),
        _shared(
            "  write('ZADD', RUNNING, scores)\n  write('ZADD', QUEUE, scores)\n", "  write('ZADD', QUEUE, scores)\n"
        ),
        _shared(
            "  write('ZADD', RUNNING, scores)\n  write('ZADD', QUEUE, scores)\n", "  write('ZADD', RUNNING, scores)\n"
        ),
        _of("start")("claim.executor == '' or claim.executor == executor", "claim.executor == ''"),
        _of("start")("claim.executor == '' or claim.executor == executor", "true"),
        _of("renew")("claim.executor == executor", "true"),
        # finished, released
        _finish("claims[at] and kept[at] and not", "claims[at] and not"),
        _finish(" and not is_ended[id]", ""),
        _finish(" and struct.unpack(CLAIM, claims[at]) == tokens[at]", ""),
        _finish("card[at] == (at % 2 == 1 and KEPT_DUE or KEPT_FAILURES)", "false"),
        _finish("is_complete and news or struct.pack", "news or struct.pack"),
        _finish("  redis.call('HSET', CARDS, unpack(texts))\n", ""),
        _finish("if #ended < #cards then", "if false then"),
        _finish("'finished', #ended)", "'finished', #cards)"),
        _release(" and struct.unpack(CLAIM, claims[at]) == tokens[at]", ""),
        _release("  redis.call('HINCRBY', STATE, 'released', #current)\n", ""),
        _drain("if not redis.call('ZSCORE', RUNNING, claims[at]) then", "if true then"),
        _drain("  give_back(over, fields(CLAIMS, over))\n", ""),
        _drain("redis.call('HLEN', CLAIMS) > redis.call('ZCARD', RUNNING)", "false"),
        _drain("'-inf', now, 'LIMIT'", "'-inf', '+inf', 'LIMIT'"),
        # taken for something else
        _take("not claims[at] and not is_taken[card]", "not is_taken[card]"),
        _take("not claims[at] and not is_taken[card]", "not claims[at]"),
        _take("    if kept[at] then queued", "    if true then queued"),
        _take("    redis.call('ZREM', PRIORITY, card)\n", ""),
        _take("  redis.call('HSET', STATE, 'token', token)\n", ""),
        _take("math.max(tonumber(redis.call('HGET', STATE, 'token') or 0), now_microseconds)", "now_microseconds"),
        # put, removed, rebuilt
        _put("  if claims[at] then\n", "  if false then\n"),
        _put("redis.call('ZSCORE', RUNNING, card) or now", "now"),
        _put("    if asked[at] then redis.call('ZADD', PRIORITY, asked_of(read_asks(asked[at])), card) end\n", ""),
        _of("remove")("{ QUEUE, PRIORITY, RUNNING }", "{ QUEUE, RUNNING }"),
        _of("remove")("{ QUEUE, PRIORITY, RUNNING }", "{ QUEUE, PRIORITY }"),
        _of("remove")("{ ASKED, CLAIMS }", "{ CLAIMS }"),
        _of("remove")("{ ASKED, CLAIMS }", "{ ASKED }"),
        _of("begin_rebuild")("READY, QUEUE, CARDS", "QUEUE, CARDS"),
        _of("begin_rebuild")("READY, QUEUE, CARDS", "READY, QUEUE, CARDS, CLAIMS, RUNNING"),
        _of("complete_rebuild")("math.max(token, ARGV[2])", "ARGV[2]"),
        _of("complete_rebuild")("math.max(token, ARGV[2])", "token"),
        # asked for
        _request("  if not kept[at] then\n", "  if false then\n"),
        _request("return cooldown > 0 and redis.call", "return redis.call"),
        _request("elseif is_cooling(card) then", "elseif false then"),
        _request("redis.call('ZREMRANGEBYSCORE', COOLDOWNS, '-inf', now)\n", ""),
        _request("return card .. ':' .. scene", "return card"),
        _request("return card .. ':' .. scene", "return scene"),
        _request(
            "is_wanted and earlier(before[type], ready_at) or before[type]", "is_wanted and ready_at or before[type]"
        ),
        _request("is_wanted and earlier(before[type], ready_at) or before[type]", "earlier(before[type], ready_at)"),
        _request("is_news or asks[type] ~= before[type]", "asks[type] ~= before[type]"),
        _request("  if not is_news then return MERGED end\n", ""),
        _request("  if is_claimed then return AFTER_THIS_RUN end\n", ""),
        _request("    rest = math.floor(rest / 2)\n", ""),
        # counted
        _count("redis.call('ZCOUNT', QUEUE, '-inf', now)", "redis.call('ZCARD', QUEUE)"),
        _count("redis.call('ZCOUNT', PRIORITY, '-inf', now)", "redis.call('ZCARD', PRIORITY)"),
    ),
)
