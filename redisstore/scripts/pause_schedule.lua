-- pause_schedule.lua: pause a schedule, or resume it. An occurrence that is due already still runs.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:cursors    hash  schedule -> cursor
-- KEYS[3] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, Unix ms
-- KEYS[4] …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[5] …:jobs       hash  job ID -> envelope
-- KEYS[6] …:crashes    hash  job ID -> times its holder vanished
-- ARGV[1] schedule; ARGV[2] paused or live
-- Returns time (us); 1 changed, 0 nothing to change, -1 there is no such schedule; definition; cursor.
local SCHEDULES, CURSORS, OWED, DUE, JOBS, CRASHES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local name, wanted = ARGV[1], ARGV[2]
-- uses: clock instant definition withdraw
local text = redis.call('HGET', SCHEDULES, name)
local revision, state, created, overlap, rest = head(text)
if not revision then return { whole(now_us), -1, text or '', '' } end
local stored_cursor = redis.call('HGET', CURSORS, name)
local from = wanted == 'paused' and 'live' or 'paused'
if state ~= from then return { whole(now_us), 0, text, stored_cursor or '' } end

local at, used, kind = cursor(stored_cursor)
local withdrawn = wanted == 'paused' and placed_ahead(DUE, JOBS, CRASHES, name, at, kind)
text = definition(revision, wanted, created, overlap, rest)
redis.call('HSET', SCHEDULES, name, text)
if wanted == 'paused' then
  if withdrawn then
    redis.call('ZREM', DUE, withdrawn)
    used = math.max(used - 1, 0)
  end
  if stored_cursor then
    stored_cursor = instant(now_s) .. ' ' .. whole(used) .. ' s'
    redis.call('HSET', CURSORS, name, stored_cursor)
  end
  redis.call('ZREM', OWED, name)
else
  redis.call('ZADD', OWED, whole(now_ms), name)
end
return { whole(now_us), 1, text, stored_cursor or '' }
