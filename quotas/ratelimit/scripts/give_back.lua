-- Takes the last booking back. ARGV: its name, and how many calls it was for.
-- Returns 1, or 0 where others have booked since: then the slot is lost.

local booking, cost = tonumber(ARGV[1]), tonumber(ARGV[2])
local state, _, before = read_state()
if state.booking ~= booking then return 0 end

local restored = before ~= '' and cmsgpack.unpack(before) or { booking = 0, slot = 0, paces = {} }
restored.now, restored.ahead = state.now, state.ahead
redis.call('SET', KEYS[1], cmsgpack.pack(restored), 'KEEPTTL')
for at = 2, #KEYS do redis.call('LTRIM', KEYS[at], cost, -1) end
return 1
