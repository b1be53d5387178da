-- withdraw: needs DUE, JOBS, CRASHES.

-- placed_ahead returns the ID of the occurrence at a cursor if it is placed in the future and nobody has taken it yet.
local function placed_ahead(name, at, kind)
  if kind ~= 'p' then return nil end
  local id = name .. '@' .. at
  local due = redis.call('ZSCORE', DUE, id)
  if not due or tonumber(due) <= now_ms then return nil end
  if redis.call('HEXISTS', JOBS, id) == 1 or redis.call('HEXISTS', CRASHES, id) == 1 then return nil end
  return id
end
