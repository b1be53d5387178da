-- announce.lua: note which jobs a worker handles. A live worker calls this every other minute.
-- KEYS[1] …:handlers  zset  "<queue> <job name>" -> instant of the last such call, Unix ms; removed after a day
-- ARGV one value for each job: queue and job name, separated by a space
-- Returns 1.
local DAY_MS = 86400000
-- uses: clock
local entries = {}
for _, name in ipairs(ARGV) do
  entries[#entries + 1] = whole(now_ms)
  entries[#entries + 1] = name
end
-- Old entries are removed only when a new one is added: otherwise the set does not grow.
if #entries > 0 and redis.call('ZADD', KEYS[1], unpack(entries)) > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', whole(now_ms - DAY_MS))
end
return 1
