-- measure.lua: add the measurements of a session. It comes before the session's next call, in the same pipeline, and does not change
-- …:inflight: so the call that carries jobs is not affected. close_session.lua adds the measurements that are left when the session ends.
--
-- Each number of a session counts once, however often and late it is sent, and only while the session is in …:sessions.
-- …:callers remembers the number for as long as the session exists: closing it and reaping it remove the mark, and a later copy
-- finds no session. So the measurements of a session that was reaped before its call came are lost. The mark's instant is
-- MARK_S ahead, so that it is not trimmed while the session lives, even if the clock steps ahead by days; if a session was removed
-- manually, its mark is removed after that time. A worker that has measured nothing for longer than that has no copy on its way.
-- KEYS[1] …:measured  hash  see lib/measured.lua
-- KEYS[2] …:sessions  zset  session -> instant it lapses, Unix ms
-- KEYS[3] …:callers   zset  "measured <session>" -> MARK_S after its last call, and that call's number, see lib/callers.lua
-- KEYS[4] …:state     hash  layout
-- KEYS[5] …:shapes    hash  see lib/shapes.lua
-- ARGV[1] session; ARGV[2] number, one more than that of its last; ARGV[3...] see lib/shapes.lua; then see lib/measured.lua
-- Returns 1; 0 if it was counted before, or the session is gone.
local MEASURED, SESSIONS, CALLERS, SHAPES = KEYS[1], KEYS[2], KEYS[3], KEYS[5]
-- uses: clock layout callers strings sums measured shapes
local refusal = newer(redis.call('HGET', KEYS[4], 'layout'))
if refusal then return refusal end
local MARK_S = 30 * 86400
local mark, number = 'measured ' .. ARGV[1], tonumber(ARGV[2]) % ROUND
if not redis.call('ZSCORE', SESSIONS, ARGV[1]) then return 0 end
local last = redis.call('ZSCORE', CALLERS, mark)
local ahead = last and (number - tonumber(last) % ROUND) % ROUND or 1
if ahead == 0 or ahead >= ROUND / 2 then return 0 end
local shapes, removed, next = add_shapes(SHAPES, ARGV, 3)
local changed = add_measured(MEASURED, ARGV, next)

redis.call('ZADD', CALLERS, whole((now_s + MARK_S) * ROUND + number), mark)
if #changed > 0 then redis.call('HSET', MEASURED, unpack(changed)) end
if #removed > 0 then redis.call('HDEL', SHAPES, unpack(removed)) end
if #shapes > 0 then redis.call('HSET', SHAPES, unpack(shapes)) end
return 1
