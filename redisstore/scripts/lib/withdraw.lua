-- withdraw: what becomes of the occurrence at the cursor of a schedule that changes, pauses or moves.
-- needs: clock definition

-- untaken returns the ID of the occurrence at the cursor of the schedule name if it is in due and nobody has taken it yet; whether it is
-- placed in the future, so that it is to be withdrawn; and its instant, Unix ms. at, kind: planned instant and kind of the cursor; due,
-- jobs, crashes: the keys.
local function untaken(due, jobs, crashes, name, at, kind)
  if not is_placed(kind) then return nil, false end
  local id = name .. '@' .. at
  local due_ms = redis.call('ZSCORE', due, id)
  if not due_ms then return nil, false end
  if redis.call('HEXISTS', jobs, id) == 1 or redis.call('HEXISTS', crashes, id) == 1 then return nil, false end
  return id, tonumber(due_ms) > now_ms, tonumber(due_ms)
end
