-- pause_queue.lua: pause a queue, or resume it. Resuming wakes a worker as enqueuing does. While the queue is paused, enqueuing wakes no worker.
-- A queue that is paused already remains paused; a different note replaces the old one, with its time and its end.
-- KEYS[1] …:state  hash  paused: "<since when, Unix ms> <note>", limit, layout, groups
-- KEYS[2] …:idle   zset  sleeping worker -> instant it went to sleep, Unix ms; see lib/gate.lua
-- KEYS[3] …:due    zset  job ID -> instant it is due, Unix ms
-- KEYS[4] …:ready  list  IDs of jobs to run now
-- KEYS[5] …:turns  zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[6] …:opens  zset  group -> instant of its next start, Unix ms
-- KEYS[7] …:callers  zset  completed calls, see lib/closed.lua
-- KEYS[8] …:ends   zset  ends of pauses, see lib/ends.lua
-- ARGV[1] 1 pause, 0 resume, 2 resume if the end of the pause has come; ARGV[2] prefix of the wake-up channels; ARGV[3] a note, empty: none; ARGV[4] a unique name of this call: a late copy of it
-- changes nothing, also if the queue was resumed, or paused, since
-- Returns 1 if that changed anything.
local STATE, IDLE, DUE, READY = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local TURNS, OPENS, CALLERS, ENDS = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local wake = ARGV[2]
-- uses: limits callers clock ends layout closed gate wake alarm due queuelimit waiting
local refusal = newer(redis.call('HGET', STATE, 'layout'))
if refusal then return refusal end
local state = redis.call('HMGET', STATE, 'paused', 'limit', 'groups')
local paused, limit = state[1], read_limit(state[2])
local startable, next_ms = next_take(READY, DUE, TURNS, OPENS, state[3], limit, next_start)
redis.call('ZSCORE', IDLE, CLOSED) -- read, so that a key of a wrong type stops the call here
redis.call('ZCARD', ENDS)
local before = answered(CALLERS, ARGV[4])
if before then return before end
redis.call('ZREM', IDLE, '') -- makes the other writes possible when the server is out of memory
if ARGV[1] == '2' and not is_over(paused) then
  set_end(ENDS, 'queue', paused or '') -- the entry was not of this pause
  return 0
end
local changes = 0
if ARGV[1] == '1' and not paused or ARGV[1] ~= '1' and paused then changes = 1 end
remember_closed(CALLERS, ARGV[4], changes)
if ARGV[1] == '1' then
  local note = paused and string.match(paused, '^%d+ (.*)$') or ''
  if not paused or ARGV[3] ~= '' and ARGV[3] ~= note then
    redis.call('HSET', STATE, 'paused', whole(now_ms) .. ' ' .. ARGV[3])
    set_end(ENDS, 'queue', ARGV[3])
  end
  redis.call('ZADD', IDLE, '-1', CLOSED)
  return changes
end
set_end(ENDS, 'queue', '')
if redis.call('HDEL', STATE, 'paused') == 0 then return 0 end
if not limit then redis.call('ZREM', IDLE, CLOSED) end
if not limit or startable then wake_one(IDLE, wake) end
if next_ms >= 0 then keep_alarm(IDLE, wake, next_ms) end
return 1
