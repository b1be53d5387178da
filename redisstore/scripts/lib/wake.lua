-- wake: needs IDLE, WAKE (channel prefix).
local STALE_MS = 13000 -- age at which a registration is passed over: longer than the longest safety poll, which renews it

-- wake_one takes the longest asleep off the list and wakes it. One whose registration nobody has renewed goes without: if it
-- lives it returns at its next look. The first that is not as old is woken in its place.
local function wake_one()
  local longest = redis.call('ZPOPMIN', IDLE)
  local sleeper = longest[1]
  if sleeper and now_ms - tonumber(longest[2]) > STALE_MS then
    -- read after write: who sleeps depends on what was done, and waking comes last
    sleeper = redis.call('ZRANGEBYSCORE', IDLE, whole(now_ms - STALE_MS), '+inf', 'LIMIT', '0', '1')[1]
    if sleeper then redis.call('ZREM', IDLE, sleeper) end
  end
  if sleeper then redis.call('PUBLISH', WAKE .. sleeper, 'w') end
end
