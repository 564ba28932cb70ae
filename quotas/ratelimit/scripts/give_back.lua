-- Takes the last booking back. ARGV: its token, and how many calls it was for.
-- Returns 1, or 0 where others have booked since: then the slot is lost.

local token, cost = tonumber(ARGV[1]), tonumber(ARGV[2])
local state, _, before = read_state(1)
if state.token ~= token then return 0 end

local restored = before ~= '' and cmsgpack.unpack(before) or { slot = 0, paces = {} }
restored.now, restored.ahead = state.now, state.ahead
restored.token = 0 -- what was before the booking before is not known
redis.call('SET', KEYS[1], cmsgpack.pack(restored), 'KEEPTTL')
for at = 2, #KEYS do redis.call('LTRIM', KEYS[at], cost, -1) end
return 1
