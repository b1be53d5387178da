-- move_begin.lua: begin to move a schedule to another queue. An occurrence placed in the future is withdrawn, and the definition becomes
-- a mark: it places nothing more, but what is still due, in flight or parked here runs with it. The name stays in owed until the move
-- is done.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:cursors    hash  schedule -> cursor
-- KEYS[3] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, Unix ms
-- KEYS[4] …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[5] …:jobs       hash  job ID -> envelope
-- KEYS[6] …:crashes    hash  job ID -> times its holder vanished
-- KEYS[7] …:state      hash  fence
-- KEYS[8] …:moved      zset  schedule -> instant its mark was made, Unix ms: the sweep removes it after 7 days
-- ARGV[1] schedule; ARGV[2] the queue it goes to
-- Returns the mark, the cursor, since when it is owed (Unix ms).
-- A mark's state is "moved to <queue> <state before>". It has a revision of its own, which moves with the schedule. If there is no
-- definition, the state before is none: then the mark stops a declaration that comes later.
local SCHEDULES, CURSORS, OWED, DUE, JOBS, CRASHES, STATE, MOVED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local name = ARGV[1]
-- uses: clock instant definition withdraw
local text = redis.call('HGET', SCHEDULES, name)
local revision, state, created, overlap, rest = head(text)
local stored_cursor = redis.call('HGET', CURSORS, name) or ''
local since = redis.call('ZSCORE', OWED, name)
if not revision then
  revision, state, created, overlap, rest = '0', 'none', instant(now_s), 'allow', '"job":""}'
elseif is_mark(state) then
  return { text, stored_cursor, whole(tonumber(since or now_ms)) }
end
local at, used, kind = cursor(stored_cursor)
local withdrawn = placed_ahead(DUE, JOBS, CRASHES, name, at, kind)
local fence = math.max(tonumber(redis.call('HGET', STATE, 'fence') or 0) + 1, now_us, tonumber(revision) + 1)

if withdrawn then
  redis.call('ZREM', DUE, withdrawn)
  stored_cursor = instant(now_s) .. ' ' .. whole(math.max(used - 1, 0)) .. ' s'
  redis.call('HSET', CURSORS, name, stored_cursor)
end
text = definition(whole(fence), 'moved to ' .. ARGV[2] .. ' ' .. state, created, overlap, rest)
redis.call('HSET', SCHEDULES, name, text)
redis.call('HSET', STATE, 'fence', whole(fence))
redis.call('ZADD', MOVED, whole(now_ms), name)
if not since then
  since = now_ms
  redis.call('ZADD', OWED, whole(now_ms), name)
end
return { text, stored_cursor, whole(tonumber(since)) }
