-- withdraw: what a change, a pause or a move takes out of due.
-- needs: clock

-- placed_ahead returns the ID of the occurrence at the cursor of the schedule name if it is placed in the future and nobody has
-- taken it yet. at, kind: planned instant and kind of the cursor; due, jobs, crashes: the keys.
local function placed_ahead(due, jobs, crashes, name, at, kind)
  if kind ~= 'p' then return nil end
  local id = name .. '@' .. at
  local due_ms = redis.call('ZSCORE', due, id)
  if not due_ms or tonumber(due_ms) <= now_ms then return nil end
  if redis.call('HEXISTS', jobs, id) == 1 or redis.call('HEXISTS', crashes, id) == 1 then return nil end
  return id
end
