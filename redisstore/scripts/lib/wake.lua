-- wake: wakes a sleeping worker.
-- needs: limits clock

-- wake_one takes the worker that has slept longest off the sorted set idle and publishes to its channel; wake is the prefix of the
-- channels. If its registration is stale, nothing is published: the worker is dead, or returns at its next poll. Then the first
-- worker whose registration is fresh is woken in its place.
local function wake_one(idle, wake)
  local longest = redis.call('ZPOPMIN', idle)
  local worker = longest[1]
  if worker and now_ms - tonumber(longest[2]) > STALE_MS then
    -- read after write: who sleeps depends on what was done, and waking comes last
    worker = redis.call('ZRANGEBYSCORE', idle, whole(now_ms - STALE_MS), '+inf', 'LIMIT', '0', '1')[1]
    if worker then redis.call('ZREM', idle, worker) end
  end
  if worker then redis.call('PUBLISH', wake .. worker, 'w') end
end
