-- remove.lua: delete a schedule and its placed occurrence. An occurrence in flight may finish; nothing follows it.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:cursors    hash  schedule -> cursor
-- KEYS[3] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, Unix ms
-- KEYS[4] …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[5] …:open       hash  schedule -> "<occurrence>|<fence>|<worker>|<occurrence parked behind it>"
-- KEYS[6] …:jobs       hash  job ID -> envelope
-- KEYS[7] …:crashes    hash  job ID -> times its holder vanished
-- KEYS[8] …:counters   hash
-- ARGV[1] schedule
-- Returns 1 if it was deleted, 0 if there was none, or the text of its mark if it moves: finish the move first.
local SCHEDULES, CURSORS, OWED, DUE, OPEN, JOBS, CRASHES, COUNTERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local name = ARGV[1]
-- uses: counters definition
local text = redis.call('HGET', SCHEDULES, name)
local _, state = head(text)
if is_mark(state) then return text end
local at, _, kind = cursor(redis.call('HGET', CURSORS, name))
local placed = kind == 'p' and name .. '@' .. at
if placed and (redis.call('HEXISTS', JOBS, placed) == 1 or redis.call('HEXISTS', CRASHES, placed) == 1) then placed = false end

local found = redis.call('HDEL', SCHEDULES, name)
redis.call('HDEL', CURSORS, name)
redis.call('ZREM', OWED, name)
redis.call('HDEL', OPEN, name)
if placed then redis.call('ZREM', DUE, placed) end
redis.call('HDEL', COUNTERS, counters_of(name))
return found
