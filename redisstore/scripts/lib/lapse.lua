-- lapse: which sessions have lapsed.

-- lapses returns the earliest lapse (Unix ms, -1: no session) and at most 16 sessions past theirs, two values each.
-- A lapse further ahead than any session may live means that the clock stepped back: it is set to now and the longest life.
local function lapses(sessions, longest_ms)
  -- read after write: the caller's own session counts as it is now; all that the call was for is done
  local earliest = redis.call('ZRANGE', sessions, 0, 0, 'WITHSCORES')
  if not earliest[1] then return -1, {} end
  local instant_ms = tonumber(earliest[2])
  if instant_ms > now_ms + longest_ms and longest_ms > 0 then
    -- read after write: as above
    for _, session in ipairs(redis.call('ZRANGE', sessions, 0, 99)) do
      redis.call('ZADD', sessions, whole(now_ms + longest_ms), session)
    end
    return now_ms + longest_ms, {}
  end
  if instant_ms > now_ms then return instant_ms, {} end
  -- read after write: as above
  return instant_ms, redis.call('ZRANGEBYSCORE', sessions, '-inf', whole(now_ms), 'LIMIT', 0, 16, 'WITHSCORES')
end
