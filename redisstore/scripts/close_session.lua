-- close_session.lua: end a session that holds no job. A session that holds jobs or is being reaped stays as it is.
-- KEYS[1] …:inflight:<session>  hash  job ID -> fence; and the field of the piece session
-- KEYS[2] …:sessions            zset  session -> instant it lapses, Unix ms
-- KEYS[3] …:callers             zset  sessions that have ended, see lib/closed.lua; what they have measured last
-- ARGV[1] session
-- Returns 1 if this call ended it.
local INFLIGHT, SESSIONS, CALLERS = KEYS[1], KEYS[2], KEYS[3]
-- uses: callers clock closed session
local fields = redis.call('HGETALL', INFLIGHT)
if #fields ~= 2 or fields[1] ~= SELF or not string.match(fields[2], '^%d+ ') then return 0 end
remember_closed(CALLERS, ARGV[1])
redis.call('ZREM', CALLERS, 'measured ' .. ARGV[1]) -- see measure.lua
-- unread: a failure here leaves a session without a job, which lapses
redis.call('ZREM', SESSIONS, ARGV[1])
redis.call('DEL', INFLIGHT)
return 1
