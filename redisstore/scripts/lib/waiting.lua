-- waiting: whether jobs of a partition wait to run now, and when the next one can be taken. Each script that wakes workers for such jobs, or
-- returns when the caller should take again, uses this piece: only this piece knows the places where jobs wait to run now.
-- needs: clock due

-- is_waiting reports whether a job waits to run now. It does not read due.
local function is_waiting(ready)
  -- read after write: the caller may have added jobs, or taken them
  return redis.call('LLEN', ready) > 0
end

-- next_take returns whether a job can be taken now, and the instant of the next one in due, or, under a limit, of the next start, Unix ms; -1: none.
-- limit, next_start: of the piece queuelimit; nil: the queue has no limit.
local function next_take(ready, due, limit, next_start)
  local next_ms, waiting = due_head(due), is_waiting(ready)
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
