-- over: records whose time is over, in the sorted sets kept (with the hash results) and once. A script that adds n records removes up to 2n whose
-- time is over, 500 at most. So a set has at most 500 members more than were ever in force at one time, at any rate of jobs, and without a sweep.
-- needs: limits clock

-- over_in returns members of a sorted set whose time is over, for a call that adds n to it.
local function over_in(key, n)
  if n == 0 then return {} end
  -- read after write: this does not depend on what the call has written
  return redis.call('ZRANGEBYSCORE', key, '-inf', whole(now_ms), 'LIMIT', '0', whole(math.min(2 * n, MAX_ITEMS)))
end

-- drop_results removes results that are over. results, kept: the keys.
local function drop_results(ids, results, kept)
  if #ids == 0 then return end
  redis.call('ZREM', kept, unpack(ids))
  redis.call('HDEL', results, unpack(ids))
end
