-- pause_queue.lua: pause a queue, or resume it. Resuming wakes a worker as enqueuing does. While it is paused, enqueuing wakes nobody.
-- KEYS[1] …:state  hash  paused
-- KEYS[2] …:idle   zset  sleeping worker -> instant it went to sleep, Unix ms; see lib/gate.lua
-- KEYS[3] …:due    zset  job ID -> instant it is due, Unix ms
-- ARGV[1] 1 pause, 0 resume; ARGV[2] prefix of the wake-up channels
-- Returns 1 if that changed anything.
local STATE, IDLE, DUE = KEYS[1], KEYS[2], KEYS[3]
local wake = ARGV[2]
-- uses: limits clock wake alarm due gate
local next_ms = due_head(DUE)
redis.call('ZSCORE', IDLE, CLOSED) -- read, so that a key of a wrong type stops the call here
if ARGV[1] == '1' then
  local changed = redis.call('HSET', STATE, 'paused', 1)
  redis.call('ZADD', IDLE, '-1', CLOSED)
  return changed
end
if redis.call('HDEL', STATE, 'paused') == 0 then return 0 end
redis.call('ZREM', IDLE, CLOSED)
wake_one(IDLE, wake)
if next_ms >= 0 then keep_alarm(IDLE, wake, next_ms) end
return 1
