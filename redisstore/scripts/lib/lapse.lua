-- lapse: which sessions have lapsed.
-- needs: clock
local MAX_SEEN_LAPSED = 16 -- sessions that one answer names

-- lapses returns the earliest lapse in the sorted set sessions (Unix ms, -1: no session) and at most MAX_SEEN_LAPSED sessions past theirs, two
-- values each: name, lapse. No session lives longer than longest_ms: a lapse further ahead means that the clock stepped back, and
-- is set to longest_ms from now.
local function lapses(sessions, longest_ms)
  -- read after write: the caller's own session counts as it is now; all that the call was for is done
  local first = redis.call('ZRANGE', sessions, 0, MAX_SEEN_LAPSED - 1, 'WITHSCORES')
  local latest = first[#first]
  if not latest then return -1, {} end
  -- read after write: as above
  if #first == 2 * MAX_SEEN_LAPSED then latest = redis.call('ZRANGE', sessions, -1, -1, 'WITHSCORES')[2] end
  local max = whole(now_ms + longest_ms)
  if longest_ms > 0 and tonumber(latest) > now_ms + longest_ms then
    redis.call('ZREM', sessions, '') -- lets the next write pass when the server is out of memory
    -- read after write: as above
    for _, session in ipairs(redis.call('ZRANGEBYSCORE', sessions, '(' .. max, '+inf', 'LIMIT', 0, 100)) do
      redis.call('ZADD', sessions, max, session)
    end
    if tonumber(first[2]) > now_ms + longest_ms then first[2] = max end
  end
  local lapsed = {}
  for i = 2, #first, 2 do
    if tonumber(first[i]) <= now_ms then lapsed[i - 1], lapsed[i] = first[i - 1], first[i] end
  end
  return tonumber(first[2]), lapsed
end
