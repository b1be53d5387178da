-- leave.lua: remove a worker from the sleeping ones, and wake the next one if a job may start now. The worker may have had the wake-up for
-- that job: it names no queue, and two that come together look like one.
-- KEYS[1] …:idle   zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[2] …:due    zset  job ID -> instant it is due, Unix ms
-- KEYS[3] …:ready  list  IDs of jobs to run now
-- KEYS[4] …:state  hash  paused, limit, groups
-- KEYS[5] …:turns  zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[6] …:opens  zset  group -> instant of its next start, Unix ms
-- ARGV[1] worker; ARGV[2] prefix of the wake-up channels
-- Returns 1.
local IDLE, DUE, READY, STATE = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local TURNS, OPENS = KEYS[5], KEYS[6]
local wake = ARGV[2]
-- uses: limits clock gate wake alarm due waiting
local state = redis.call('HMGET', STATE, 'paused', 'limit', 'groups')
local paused, limit, start = state[1], nil, nil
if state[2] then
  -- uses: queuelimit
  limit, start = read_limit(state[2]), next_start
end
local startable, next_ms = next_take(READY, DUE, TURNS, OPENS, state[3], limit, start)
redis.call('ZREM', IDLE, ARGV[1])
if paused then return 1 end
if startable then wake_one(IDLE, wake) end
if next_ms > now_ms then keep_alarm(IDLE, wake, next_ms) end
return 1
