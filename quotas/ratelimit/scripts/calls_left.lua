
-- Counts how many calls could be booked now, one after the other, with a slot before so many microseconds are over.
-- Books nothing, and counts no further than `enough`.
function calls_left(key, argument, horizon, enough)
  local state, _, before = read_state(key)
  local windows = read_windows(key, argument, state)
  if tick(state) then keep_clock(key, state, before) end

  local over = state.now + horizon
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
end
