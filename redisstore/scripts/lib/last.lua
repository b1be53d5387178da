-- last: an entry of …:last, see the piece history.
-- needs: strings

-- new_last returns the entry in …:last of a schedule that was created at this instant; it replaces another one (nil: none); pause_after:
-- the number of the option PauseAfter, 0: none. Backfilled occurrences still belong to the schedule.
local function new_last(created, keep, pause_after, before)
  local created_before, rest = match(before or '', '^(%S+) %d+ (%d+ %d+ %S+ %d+ %-?%d+)')
  local streak = pause_after ~= '0' and ' ' .. pause_after .. '::' or ''
  if match(created_before or '', '^[^,]+') ~= created then return created .. ' ' .. keep .. ' 0 0 - 0 0' .. streak end
  return created_before .. ' ' .. keep .. ' ' .. rest .. streak
end
