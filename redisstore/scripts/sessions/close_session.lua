-- close_session.lua: end a session that holds no job. A session that holds jobs or is being reaped does not change. Its measurements since
-- its last call are counted: once, because a repeated call finds no session.
-- Model: CLOSE_BODY in models/session.pml.
-- KEYS[1] …:inflight:<session>  hash  job ID -> fence; and the field of the piece session
-- KEYS[2] …:sessions            zset  session -> instant it lapses, Unix ms
-- KEYS[3] …:callers             zset  sessions that have ended, see lib/closed.lua; "measured <session>", see measure.lua
-- KEYS[4] …:measured            hash  see lib/measured.lua
-- KEYS[5] …:state               hash  layout
-- KEYS[6] …:shapes              hash  see lib/shapes.lua
-- ARGV[1] session; ARGV[2] 1 if it has sent measurements before; ARGV[3...] its measurements since then, see lib/shapes.lua, then lib/measured.lua; may
-- be missing
-- Returns 1 if this call ended it.
local INFLIGHT, SESSIONS, CALLERS, MEASURED, SHAPES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[6]
-- uses: callers clock layout closed session strings sums measured shapes
local refusal = newer(redis.call('HGET', KEYS[5], 'layout'))
if refusal then return refusal end
local fields = redis.call('HGETALL', INFLIGHT)
if #fields ~= 2 or fields[1] ~= SELF or not string.match(fields[2], '^%d+ ') then return 0 end
local changed, shapes, removed, next = {}, {}, {}, nil
if ARGV[3] then
  shapes, removed, next = add_shapes(SHAPES, ARGV, 3)
  changed = add_measured(MEASURED, ARGV, next)
end
remember_closed(CALLERS, ARGV[1])
if ARGV[2] == '1' then redis.call('ZREM', CALLERS, 'measured ' .. ARGV[1]) end
-- unread: a failure here leaves a session without a job, which lapses
redis.call('ZREM', SESSIONS, ARGV[1])
redis.call('DEL', INFLIGHT)
-- unread: where something is written, it was read before
if #changed > 0 then redis.call('HSET', MEASURED, unpack(changed)) end
if #removed > 0 then redis.call('HDEL', SHAPES, unpack(removed)) end
if #shapes > 0 then redis.call('HSET', SHAPES, unpack(shapes)) end
return 1
