-- Notes calls to the carrier in this second of the server. ARGV: how many were made, how many of them had to wait, for
-- how many milliseconds together, how many would have had to wait too long.
-- KEYS[10], a hash: sums, and of each of the last seconds "second calls", in a field that comes round again.

local TRAFFIC, ROUND, KEPT_SECONDS = KEYS[10], 64, 7 * 86400
local field = time[1] % ROUND
local second, made = string.match(redis.call('HGET', TRAFFIC, field) or '', '(%d+) (%d+)')
made = second == time[1] and tonumber(made) or 0
redis.call('HSET', TRAFFIC, field, time[1] .. ' ' .. string.format('%.0f', made + ARGV[1]))
for at, name in ipairs({ 'calls', 'waits', 'waited', 'timeouts' }) do
  redis.call('HINCRBY', TRAFFIC, name, ARGV[at])
end
redis.call('EXPIRE', TRAFFIC, KEPT_SECONDS)
