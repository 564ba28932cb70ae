-- Counts what an account has here, and changes nothing. Returns the epoch ('': no card can be claimed), how many cards
-- there are, are due, are asked for, are asked for by now, are claimed; then the counters.

local COUNTERS = { 'claimed', 'finished', 'released', 'lease_expired', 'stale_finish' }
local told = {
  redis.call('GET', READY) or '',
  redis.call('ZCARD', QUEUE),
  redis.call('ZCOUNT', QUEUE, '-inf', now),
  redis.call('ZCARD', PRIORITY),
  redis.call('ZCOUNT', PRIORITY, '-inf', now),
  redis.call('ZCARD', RUNNING)
}
for _, count in ipairs(redis.call('HMGET', STATE, unpack(COUNTERS))) do told[#told + 1] = tonumber(count or 0) end
return told
