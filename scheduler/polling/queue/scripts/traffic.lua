-- Tells what note_traffic has noted, and changes nothing. ARGV: how many seconds are of interest, up to 60.
-- Returns how many calls were made in so many seconds before this one, then the sums: calls, waits, milliseconds
-- waited, timeouts.

local since, lately, sums = time[1] - ARGV[1], 0, {}
local noted = redis.call('HGETALL', KEYS[10])
for at = 1, #noted, 2 do
  local second, made = string.match(noted[at + 1], '(%d+) (%d+)')
  if not second then
    sums[noted[at]] = tonumber(noted[at + 1])
  elseif tonumber(second) >= since and second ~= time[1] then
    lately = lately + made
  end
end
return { lately, sums.calls or 0, sums.waits or 0, sums.waited or 0, sums.timeouts or 0 }
