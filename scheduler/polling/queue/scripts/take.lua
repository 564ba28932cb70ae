-- Claims cards for something else than their checks, due or not: nobody else works on them meanwhile. Cards that are
-- not in the queue, because they are not polled, are claimed as well. ARGV: the lease, then the cards.
-- Returns the token of each, or 0 where it is claimed already. `release` ends these claims.

local lease_end = now + tonumber(ARGV[1])
local cards = { unpack(ARGV, 2) }
local claims, kept = fields(CLAIMS, cards), fields(CARDS, cards)
local token = math.max(tonumber(redis.call('HGET', STATE, 'token') or 0), now_microseconds)
local tokens, running, queued, texts, is_taken, taken = {}, {}, {}, {}, {}, 0
for at, card in ipairs(cards) do
  tokens[at] = 0
  if not claims[at] and not is_taken[card] then
    token, taken, is_taken[card] = token + 1, taken + 1, true
    tokens[at] = token
    running[#running + 1], running[#running + 2] = lease_end, card
    texts[#texts + 1], texts[#texts + 2] = card, struct.pack(CLAIM, token, 0) .. NO_ASKS
    if kept[at] then queued[#queued + 1], queued[#queued + 2] = lease_end, card end
    redis.call('ZREM', PRIORITY, card)
  end
end
write('ZADD', RUNNING, running)
write('ZADD', QUEUE, queued)
write('HSET', CLAIMS, texts)
if taken > 0 then
  redis.call('HSET', STATE, 'token', token)
  redis.call('HINCRBY', STATE, 'claimed', taken)
end
return tokens
