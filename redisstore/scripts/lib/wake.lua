-- wake: needs IDLE, WAKE (channel prefix).
local STALE_MS = 13000 -- age at which a registration is passed over: longer than the longest safety poll, which renews it

-- wake_one takes the longest asleep off the list and wakes it; registrations that nobody renewed are passed over.
-- longest is the first of the list with its instant, where the caller has read it.
local function wake_one(longest)
  -- read after write: who sleeps depends on what was done, and waking comes last
  longest = longest or redis.call('ZRANGE', IDLE, '0', '0', 'WITHSCORES')
  local sleeper = longest[1]
  if sleeper and now_ms - tonumber(longest[2]) > STALE_MS then
    -- read after write: as above
    sleeper = redis.call('ZRANGEBYSCORE', IDLE, whole(now_ms - STALE_MS), '+inf', 'LIMIT', '0', '1')[1]
  end
  if sleeper then
    redis.call('ZREM', IDLE, sleeper)
    redis.call('PUBLISH', WAKE .. sleeper, 'w')
  end
end
