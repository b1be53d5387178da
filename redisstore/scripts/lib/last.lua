-- last: an entry of …:last, see the piece history.
-- needs: strings

-- new_last returns the entry in …:last of a schedule that was created at this instant, in place of another one (nil: there is none). What
-- is backfilled stays the schedule's.
local function new_last(created, keep, before)
  local created_before, rest = match(before or '', '^(%S+) %d+ (.+)$')
  if match(created_before or '', '^[^,]+') ~= created then return created .. ' ' .. keep .. ' 0 0 - 0 0' end
  return created_before .. ' ' .. keep .. ' ' .. rest
end
