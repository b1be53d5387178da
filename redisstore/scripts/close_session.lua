-- close_session.lua: end a session that holds no job. A session that holds jobs or is being reaped stays as it is.
-- KEYS[1] …:inflight:<session>  hash  job ID -> fence; #
-- KEYS[2] …:sessions            zset  session -> instant it lapses, Unix ms
-- ARGV[1] session
-- Returns 1 if this call ended it.
local INFLIGHT, SESSIONS = KEYS[1], KEYS[2]
local fields = redis.call('HGETALL', INFLIGHT)
if #fields ~= 2 or fields[1] ~= '#' or not string.match(fields[2], '^%d+ ') then return 0 end
redis.call('DEL', INFLIGHT)
redis.call('ZREM', SESSIONS, ARGV[1])
return 1
