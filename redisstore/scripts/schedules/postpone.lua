-- postpone.lua: delay a schedule whose next occurrence cannot be computed by a minute, if it is still owed since the same instant.
-- KEYS[1] …:owed  zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[2] …:state  hash  layout
-- ARGV[1] schedule; ARGV[2] the instant since which it is owed, as read by the caller, Unix ms
-- Returns 1 if it was moved.
-- uses: clock layout
local refusal = newer(redis.call('HGET', KEYS[2], 'layout'))
if refusal then return refusal end
local since = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not since or tonumber(since) ~= tonumber(ARGV[2]) then return 0 end
redis.call('ZREM', KEYS[1], '') -- makes the next write possible when the server is out of memory
redis.call('ZADD', KEYS[1], 'XX', whole(now_ms + 60000), ARGV[1])
return 1
