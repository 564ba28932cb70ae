-- Books the next slot. ARGV: how many calls it is for, how long the caller would wait (negative: for ever).
-- Returns how long to wait for it, and its token (0: refused, nothing is booked).

local SPARE = 100 -- calls that a log may hold beyond what it needs, so that not each booking has to trim it
local MARGIN = 1000 -- milliseconds

-- Returns how long a key is to live that is needed for so many microseconds, in milliseconds.
local function lifetime(microseconds, margins)
  return math.ceil(microseconds / 1000) + margins * MARGIN
end

local function log(window, slot, cost, kept_for)
  local calls = {}
  for call = 1, cost do calls[call] = slot end
  local length
  for first = 1, cost, 1000 do -- unpack() has its limit
    length = redis.call('LPUSH', window.log, unpack(calls, first, math.min(first + 999, cost)))
  end
  local needed = window.limit + cost -- the booking may be given back
  if length > needed + SPARE then redis.call('LTRIM', window.log, 0, needed - 1) end
  redis.call('PEXPIRE', window.log, kept_for)
end

local cost, max_wait = tonumber(ARGV[1]), tonumber(ARGV[2])
local state, text, before = read_state(1)
local windows = read_windows(1, 3, state)
local set_back = tick(state)
local slot = next_slot(state, windows, cost)
local wait = slot - state.now
if max_wait >= 0 and wait > max_wait then
  if set_back then keep_clock(1, state, before) end
  return { wait, 0 }
end

state.token, state.slot = state.now, slot
local longest = 0
for _, window in ipairs(windows) do
  log(window, slot, cost, lifetime(wait + window.length, 1))
  if window.pace then move_on(window, slot, cost) end
  longest = math.max(longest, window.length)
end
-- the state outlives the logs, for their instants are on its clock
redis.call('SET', KEYS[1], cmsgpack.pack(state) .. text, 'PX', lifetime(wait + longest, 2))
return { wait, state.token }
