-- last: an entry of …:last, see the piece history.
-- needs: strings

-- new_last returns the entry in …:last of a schedule that was created at this instant, in place of another one (nil: there is none).
local function new_last(created, keep, before)
  local created_before, rest = match(before or '', '^(%S+) %d+ (.+)$')
  return created .. ' ' .. keep .. ' ' .. (created_before == created and rest or '0 0 - 0 0')
end
