-- lapse: which sessions have lapsed.

-- lapses returns the earliest lapse (Unix ms, -1: no session) and at most 16 sessions past theirs, two values each.
-- A lapse further ahead than any session may live means that the clock stepped back: it is set to now and the longest life.
local function lapses(sessions, longest_ms)
  -- read after write: the caller's own session counts as it is now; all that the call was for is done
  local first = redis.call('ZRANGE', sessions, 0, 15, 'WITHSCORES')
  local latest = first[#first]
  if not latest then return -1, {} end
  -- read after write: as above
  if #first == 32 then latest = redis.call('ZRANGE', sessions, -1, -1, 'WITHSCORES')[2] end
  local most = whole(now_ms + longest_ms)
  if longest_ms > 0 and tonumber(latest) > now_ms + longest_ms then
    redis.call('ZREM', sessions, '') -- lets the next write pass when the server is out of memory
    -- read after write: as above
    for _, session in ipairs(redis.call('ZRANGEBYSCORE', sessions, '(' .. most, '+inf', 'LIMIT', 0, 100)) do
      redis.call('ZADD', sessions, most, session)
    end
    if tonumber(first[2]) > now_ms + longest_ms then first[2] = most end
  end
  local lapsed = {}
  for i = 2, #first, 2 do
    if tonumber(first[i]) <= now_ms then lapsed[i - 1], lapsed[i] = first[i - 1], first[i] end
  end
  return tonumber(first[2]), lapsed
end
