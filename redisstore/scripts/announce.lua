-- announce.lua: a live worker says which jobs it handles, every other minute.
-- KEYS[1] …:handlers  zset  "<queue> <job name>" -> instant a worker last said so, Unix ms; forgotten after a day
-- ARGV a queue and a job name each, separated by a space
-- Returns 1.
-- uses: clock
local entries = {}
for _, name in ipairs(ARGV) do
  entries[#entries + 1] = whole(now_ms)
  entries[#entries + 1] = name
end
-- what is forgotten goes when something new comes: else nothing grows
if #entries > 0 and redis.call('ZADD', KEYS[1], unpack(entries)) > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', whole(now_ms - 86400000))
end
return 1
