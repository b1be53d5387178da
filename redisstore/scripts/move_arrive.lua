-- move_arrive.lua: take over a schedule that moves to this queue, with its revision, creation, cursor and runs used. If that was done
-- before, or if the schedule has a newer definition here, it writes nothing.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:cursors    hash  schedule -> cursor
-- KEYS[3] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, Unix ms
-- ARGV[1] schedule; ARGV[2] its definition, to be stored here; ARGV[3] cursor (empty: none); ARGV[4] since when it is owed, Unix ms
-- Returns 1 if this call took it over.
local SCHEDULES, CURSORS, OWED = KEYS[1], KEYS[2], KEYS[3]
-- uses: definition
local revision, state = head(ARGV[2])
local here = head(redis.call('HGET', SCHEDULES, ARGV[1]))
if here and tonumber(here) >= tonumber(revision) then return 0 end
redis.call('HSET', SCHEDULES, ARGV[1], ARGV[2])
if ARGV[3] == '' then redis.call('HDEL', CURSORS, ARGV[1]) else redis.call('HSET', CURSORS, ARGV[1], ARGV[3]) end
if state == 'live' then redis.call('ZADD', OWED, ARGV[4], ARGV[1]) else redis.call('ZREM', OWED, ARGV[1]) end
return 1
