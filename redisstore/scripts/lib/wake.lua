-- wake: wakes a sleeping worker.
-- needs: limits clock gate

-- wake_popped publishes to the channel of the worker that was popped off the sorted set idle, where it had been since the instant
-- since, Unix ms; wake is the prefix of the channels. If its registration is stale, nothing is published: the worker is dead, or returns
-- at its next poll. Then the first worker with a fresh registration is woken instead.
local function wake_popped(idle, wake, worker, since)
  if now_ms - tonumber(since) > STALE_MS then
    -- read after write: which workers sleep depends on earlier writes, and waking comes last
    worker = redis.call('ZRANGEBYSCORE', idle, whole(now_ms - STALE_MS), '+inf', 'LIMIT', '0', '1')[1]
    -- unread: the line above has read it
    if worker then redis.call('ZREM', idle, worker) end
  end
  -- the message has the partition: a worker of many queues then calls this one alone
  if worker then redis.call('PUBLISH', wake .. worker, 'w' .. (string.match(idle, '{(.*)}') or '')) end
end

-- wake_one wakes the worker that has slept longest, as wake_popped does. The gate, which is before all workers, remains.
local function wake_one(idle, wake)
  local longest = redis.call('ZPOPMIN', idle)
  -- unread: the line above would have failed
  if longest[1] == CLOSED then redis.call('ZADD', idle, longest[2], CLOSED) end
  if longest[1] then wake_popped(idle, wake, longest[1], longest[2]) end
end
