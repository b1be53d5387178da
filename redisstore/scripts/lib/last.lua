-- last: an entry of …:last, see the piece history.
-- needs: strings

-- new_last returns the entry in …:last of a schedule that was created at this instant, in place of another one (nil: there is none); pause_after:
-- the number of the option PauseAfter, 0: none.
local function new_last(created, keep, pause_after, before)
  local created_before, rest = match(before or '', '^(%S+) %d+ (%d+ %d+ %S+ %d+ %-?%d+)')
  return created .. ' ' .. keep .. ' ' .. (created_before == created and rest or '0 0 - 0 0') .. (pause_after ~= '0' and ' ' .. pause_after .. '::' or '')
end
