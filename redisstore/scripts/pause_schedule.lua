-- pause_schedule.lua: pause a schedule, or resume it. An occurrence that is due already still runs.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:cursors    hash  schedule -> cursor
-- KEYS[3] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[4] …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[5] …:jobs       hash  job ID -> envelope
-- KEYS[6] …:crashes    hash  job ID -> times its holder vanished
-- ARGV[1] schedule; ARGV[2] paused or live; ARGV[3] its generation in the registry: one that has a later generation here is left alone
-- Returns time (us); 1 changed, 0 nothing to change, -1 there is no such schedule, -2 its definition cannot be read; definition; cursor;
-- 1 if it is owed its next occurrence now.
local SCHEDULES, CURSORS, OWED, DUE, JOBS, CRASHES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local name, wanted = ARGV[1], ARGV[2]
-- uses: clock instant definition withdraw
local text = redis.call('HGET', SCHEDULES, name)
if not text then return { whole(now_us), -1, '', '', 0 } end
local h = head(text)
if not h then return { whole(now_us), -2, text, '', 0 } end
local stored_cursor = redis.call('HGET', CURSORS, name) or ''
if tonumber(h.generation) > tonumber(ARGV[3]) or h.state ~= (wanted == 'paused' and 'live' or 'paused') then return { whole(now_us), 0, text, stored_cursor, 0 } end

local at, used, kind = cursor(stored_cursor)
local waiting, ahead = untaken(DUE, JOBS, CRASHES, name, at, kind)
redis.call('ZSCORE', OWED, name)
h.state = wanted
redis.call('HSET', SCHEDULES, name, definition(h))
local owes = 0
if wanted == 'paused' then
  if ahead then
    redis.call('ZREM', DUE, waiting)
    stored_cursor = instant(now_s) .. ' ' .. whole(math.max(used - 1, 0)) .. ' s'
    redis.call('HSET', CURSORS, name, stored_cursor)
  end
  redis.call('ZREM', OWED, name)
elseif not waiting then -- else its taking will owe the next one
  if is_placed(kind) then
    stored_cursor = at .. ' ' .. whole(used) .. ' s' -- it was taken: what follows it was missed
    redis.call('HSET', CURSORS, name, stored_cursor)
  end
  redis.call('ZADD', OWED, whole(now_ms), name)
  owes = 1
end
return { whole(now_us), 1, definition(h), stored_cursor, owes }
