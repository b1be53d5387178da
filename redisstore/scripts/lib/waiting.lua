-- waiting: whether jobs of a partition wait to run now, and when the next one can be taken. Each script that wakes workers for such jobs, or
-- returns when the caller should take again, uses this piece: only this piece knows the places where jobs wait to run now.
-- needs: clock due

-- Jobs of groups wait in line. Those that may start now have their groups in turns, and a group whose next start has an instant is in
-- opens (lib/groups.lua).
-- grouped: the field groups of state; without it neither key is read.

local STEPPED = 1000000 -- as STEPPED_US of lib/groups.lua

-- is_waiting reports whether a job waits that may run now. It does not read due.
local function is_waiting(ready, turns, grouped)
  -- read after write: the caller may have added jobs, or taken them
  return redis.call('LLEN', ready) > 0 or grouped and redis.call('ZCARD', turns) > 0
end

-- head_due returns the first instant at which a job in due, or a job of a group in opens, may start, Unix ms; -1: none.
local function head_due(due, opens, grouped)
  local next_ms = due_head(due)
  if grouped then
    local opens_ms = due_head(opens)
    if opens_ms >= 0 and (next_ms < 0 or opens_ms < next_ms) then return opens_ms end
  end
  return next_ms
end

-- next_take returns whether a job can be taken now, and the instant of the next one in due or opens, or, under a limit, of the next start, Unix ms;
-- -1: none. limit, next_start: of the piece queuelimit; nil: the queue has no limit.
local function next_take(ready, due, turns, opens, grouped, limit, next_start)
  local next_ms, waiting = head_due(due, opens, grouped), is_waiting(ready, turns, grouped)
  if grouped and not waiting and next_ms > now_ms and tonumber(string.match(grouped, '(%d+)$') or 0) > now_us + STEPPED and due_head(opens) > now_ms then
    waiting = true -- the clock stepped back: a take corrects the instants in opens
  end
  if limit then
    next_ms = next_start(limit, next_ms, waiting)
    return next_ms == now_ms, next_ms
  end
  return waiting or next_ms >= 0 and next_ms <= now_ms, next_ms
end

-- count_waiting returns how many jobs wait to run now, without those that are void. stale, line: the keys.
local function count_waiting(ready, stale, line)
  return math.max(redis.call('LLEN', ready) - redis.call('ZCARD', stale), 0) + redis.call('ZCARD', line)
end
