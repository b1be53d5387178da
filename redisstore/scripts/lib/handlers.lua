-- handlers: which workers handle a job name: the hash handlers has, by job name, "<worker> <Unix s> " for each of the last
-- MAX_HANDLERS that have announced it.
-- needs: limits clock
local MAX_HANDLERS = 32
local GONE_S = 900 -- a worker that has not announced itself for this time is gone

-- wake_handler removes from the sorted set idle the worker in text, an entry of …:handlers, that has slept longest, and publishes to its
-- channel; wake is the prefix of the channels. Nothing happens if none of them sleeps.
local function wake_handler(text, idle, wake)
  local workers, longest, since = {}, nil, nil
  for worker in string.gmatch(text or '', '(%S+) %d+ ') do workers[#workers + 1] = worker end
  if #workers == 0 then return end
  -- read after write: which workers sleep depends on earlier writes, and waking comes last
  for i, score in ipairs(redis.call('ZMSCORE', idle, unpack(workers))) do
    local asleep = tonumber(score or '')
    if asleep and now_ms - asleep <= STALE_MS and not (since and since <= asleep) then longest, since = workers[i], asleep end
  end
  if not longest then return end
  redis.call('ZREM', idle, longest)
  redis.call('PUBLISH', wake .. longest, 'w' .. (string.match(idle, '{(.*)}') or '')) -- as wake_popped
end
