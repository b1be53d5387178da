-- kept: the results of finished jobs, which have nothing else to settle. keeps lists them: n, how many; first, the argument after which
-- their IDs begin; at, the argument after which two values for each begin: how long its result is kept, ms, and the result; queue; without, the
-- positions of those whose settlement does not count.
-- needs: limits clock

-- keep_finished writes the results. It notifies callers that wait for one of these jobs on its channel, with the prefix wake. results, kept: the keys.
local function keep_finished(args, keeps, results, kept, wake)
  local records, untils, keep, until_ms = {}, {}, nil, nil
  for i = 1, keeps.n do
    if not keeps.without[i] then
      local id, at, n = args[keeps.first + i], keeps.at + 2 * i, #records
      if args[at - 1] ~= keep then -- usually the same as for the job before
        keep = args[at - 1]
        until_ms = whole(now_ms + tonumber(keep))
      end
      records[n + 1], records[n + 2], untils[n + 1], untils[n + 2] = id, args[at], until_ms, id
    end
  end
  if #records == 0 then return end
  -- read after write: this does not depend on what the call has written. See lib/over.lua, which the long path uses
  local over = redis.call('ZRANGEBYSCORE', kept, '-inf', whole(now_ms), 'LIMIT', '0', whole(math.min(#records, MAX_ITEMS)))
  if #over > 0 then
    redis.call('ZREM', kept, unpack(over))
    redis.call('HDEL', results, unpack(over))
  end
  redis.call('HSET', results, unpack(records))
  redis.call('ZADD', kept, unpack(untils))
  local channel = wake .. 'ended:' .. keeps.queue .. '\t'
  for i = 1, #records, 2 do redis.call('PUBLISH', channel .. records[i], 'e') end
end
