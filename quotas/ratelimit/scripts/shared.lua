-- Stands before each script.
--
-- KEYS: from `key` on the state of the limiter, then the log of each window.
-- ARGV: from `argument` on, to the end, of each window: limit, length, patience (negative: not evenly spaced).
--
-- Instants and lengths are whole microseconds. Lua's numbers are doubles, exact to 2^53: enough until 2255. They are
-- handed to Redis as numbers, which writes them in full; Lua's own tostring() keeps 14 digits of an instant's 16.

-- Returns the state, how it was written, and how the state before the last booking was written. The state has:
--   now    when something was last booked, on a clock that only goes forward
--   ahead  how far that clock is ahead of the server's
--   token  the `now` of the last booking
--   slot   the slot of the last booking
--   paces  of each evenly spaced window, by its length: `next`, from when its pace lets the next call pass, and
--          `rest`, the fraction of a microsecond after it in parts of the limit
local function read_state(key)
  local text = redis.call('GET', KEYS[key])
  if not text then return { now = 0, ahead = 0, token = 0, slot = 0, paces = {} }, '', '' end
  local ends, state = cmsgpack.unpack_one(text)
  if ends < 0 then return state, text, '' end
  return state, string.sub(text, 1, ends), string.sub(text, ends + 1)
end

-- Move the state's clock on. A server's clock that was set back does not take it along: what was booked keeps its
-- distance from now, and nobody waits until the old time is reached again.
local function tick(state)
  local time = redis.call('TIME')
  local server = time[1] * 1000000 + time[2]
  local was_ahead = state.ahead
  if server + was_ahead <= state.now then state.ahead = state.now + 1 - server end
  state.now = server + state.ahead
  return state.ahead ~= was_ahead
end

-- Keep a clock that was set back where nothing else is written, else it would stand still.
local function keep_clock(key, state, before)
  redis.call('SET', KEYS[key], cmsgpack.pack(state) .. before, 'KEEPTTL')
end

local function read_windows(key, argument, state)
  local windows = {}
  for at = argument, #ARGV, 3 do
    local window = {
      log = KEYS[key + #windows + 1],
      limit = tonumber(ARGV[at]),
      length = tonumber(ARGV[at + 1]),
      patience = tonumber(ARGV[at + 2]),
      taken = {} -- slots that are not in the log, the newest last
    }
    if window.patience >= 0 then
      window.pace = state.paces[window.length] or { next = 0, rest = 0 }
      state.paces[window.length] = window.pace
    end
    windows[#windows + 1] = window
  end
  return windows
end

-- The slot of the index-th newest call, from 0; nil where so many are not known.
local function slot_of(window, index)
  local taken = #window.taken
  if index < taken then return window.taken[taken - index] end
  return tonumber(redis.call('LINDEX', window.log, index - taken) or nil)
end

-- From when a window lets so many calls pass at once.
local function earliest(window, cost, now)
  local at = now
  if window.pace and window.pace.next >= now - window.patience then
    at = window.pace.next -- who comes a little late keeps the beat, else each delay would lower the rate
  end
  local in_the_way = slot_of(window, window.limit - cost)
  return in_the_way and math.max(at, in_the_way + window.length) or at
end

-- The next slot: from when all windows let so many calls pass. No call overtakes one that was booked before.
local function next_slot(state, windows, cost)
  local slot = state.slot
  for _, window in ipairs(windows) do slot = math.max(slot, earliest(window, cost, state.now)) end
  return slot
end

-- Move the pace of a window on, without losing the fractions of microseconds.
local function move_on(window, slot, cost)
  local pace, limit, length = window.pace, window.limit, window.length
  local rest = (pace.next == slot and pace.rest or 0) + cost * (length % limit)
  pace.next = slot + cost * math.floor(length / limit) + math.floor(rest / limit)
  pace.rest = rest % limit
end
