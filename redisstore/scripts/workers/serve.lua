-- serve.lua: record which queues live workers serve. A live worker calls this once an hour.
-- KEYS[1] …:served  zset  queue -> instant of the last such call, Unix ms; removed after a day
-- ARGV queues
-- Returns 1.
local SERVED = KEYS[1]
local DAY_MS = 86400000
-- uses: clock
local entries = {}
for _, queue in ipairs(ARGV) do
  entries[#entries + 1] = whole(now_ms)
  entries[#entries + 1] = queue
end
-- Old entries are removed only when a new one is added: otherwise the set does not grow.
if #entries > 0 and redis.call('ZADD', SERVED, unpack(entries)) > 0 then
  redis.call('ZREMRANGEBYSCORE', SERVED, '-inf', whole(now_ms - DAY_MS))
end
return 1
