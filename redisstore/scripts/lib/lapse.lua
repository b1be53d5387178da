-- lapse: which sessions have lapsed.

-- lapses returns the earliest lapse (Unix ms, -1: no session) and at most 16 sessions past theirs, two values each.
-- A lapse further ahead than any session may live means that the clock stepped back: it is set to now and the longest life.
local function lapses(sessions, longest_ms)
  -- read after write: the caller's own session counts as it is now; all that the call was for is done
  local latest = redis.call('ZRANGE', sessions, -1, -1, 'WITHSCORES')
  if not latest[1] then return -1, {} end
  local most = whole(now_ms + longest_ms)
  if longest_ms > 0 and tonumber(latest[2]) > now_ms + longest_ms then
    redis.call('ZREM', sessions, '') -- lets the next write pass when the server is out of memory
    -- read after write: as above
    for _, session in ipairs(redis.call('ZRANGEBYSCORE', sessions, '(' .. most, '+inf', 'LIMIT', 0, 100)) do
      redis.call('ZADD', sessions, most, session)
    end
  end
  -- read after write: as above
  local instant_ms = tonumber(redis.call('ZRANGE', sessions, 0, 0, 'WITHSCORES')[2])
  if instant_ms > now_ms then return instant_ms, {} end
  -- read after write: as above
  return instant_ms, redis.call('ZRANGEBYSCORE', sessions, '-inf', whole(now_ms), 'LIMIT', 0, 16, 'WITHSCORES')
end
