-- withdraw: the withdrawal of the occurrence at the cursor of a schedule that changes, pauses or moves.
-- Model: WITHDRAW in models/placing.pml.
-- needs: clock instant seconds definition

-- A schedule with a spread has occurrences whose planned instant has passed although they are due later. A withdrawn occurrence is still to
-- come, so the cursor moves to an instant before its planned one: else it would be lost. Without a spread that instant is now.

-- untaken returns the ID of the occurrence at the cursor of the schedule name if it is in due, or waits in line, and was not taken yet; and whether it
-- is due in the future, so that it must be withdrawn. at, kind: planned instant and kind of the cursor; due, jobs, crashes: the keys; lined: see the
-- piece lined, nil: no job has a group.
local function untaken(due, jobs, crashes, name, at, kind, lined)
  if not is_placed(kind) then return nil, false end
  local id = name .. '@' .. at
  local due_ms = redis.call('ZSCORE', due, id)
  if not due_ms and not (lined and lined.member_of(id)) then return nil, false end
  if redis.call('HEXISTS', jobs, id) == 1 or redis.call('HEXISTS', crashes, id) == 1 then return nil, false end
  return id, due_ms and tonumber(due_ms) > now_ms or false
end

-- before returns the text of the instant from which a schedule continues after the withdrawal of an occurrence that was planned for at: now, or
-- the second before at if that is earlier.
local function before(at)
  return instant(math.min(now_s, (seconds(at) or now_s + 1) - 1))
end

-- is_first reports whether an occurrence planned for at is the run at creation of a schedule that was created then. The rule need not have that
-- instant, so after its withdrawal there is no cursor again.
local function is_first(at, created)
  return string.sub(at, 1, 19) == string.sub(created, 1, 19)
end

-- withdrawn returns the cursor of a schedule after the withdrawal of the occurrence at it, which was planned for at; used: the runs that are
-- used up without it; empty: none.
local function withdrawn(at, used, created)
  return is_first(at, created) and '' or before(at) .. ' ' .. whole(used) .. ' s'
end
