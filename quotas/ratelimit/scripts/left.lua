-- Counts how many calls could be booked now, one after the other, with a slot before the second is over.
-- ARGV: how many are enough. Books nothing.

local enough = tonumber(ARGV[1])
local state, _, before = read_state()
local windows = read_windows(2, state)
if tick(state) then keep_clock(state, before) end

local over = state.now + 1000000
for count = 0, enough - 1 do
  local slot = next_slot(state, windows, 1)
  if slot >= over then return count end
  state.slot = slot
  for _, window in ipairs(windows) do
    window.taken[#window.taken + 1] = slot
    if window.pace then move_on(window, slot, 1) end
  end
end
return enough
