-- departed.lua: the move is done: nothing is owed in the old place any more. The mark stays until it is swept.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:owed       zset  schedule -> instant
-- ARGV[1] schedule; ARGV[2] revision of the mark
-- Returns 1 if that changed anything.
-- uses: definition
local revision, state = head(redis.call('HGET', KEYS[1], ARGV[1]))
if revision ~= ARGV[2] or not is_mark(state) then return 0 end
return redis.call('ZREM', KEYS[2], ARGV[1])
