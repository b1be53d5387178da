-- move_end.lua: end the move of a schedule in the queue that it left: take its name out of owed. The mark stays until it is swept.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- ARGV[1] schedule; ARGV[2] generation of the mark
-- Returns 1 if the name was in owed.
-- uses: definition
local h = head(redis.call('HGET', KEYS[1], ARGV[1]))
if not h or h.generation ~= ARGV[2] or not is_mark(h.state) then return 0 end
return redis.call('ZREM', KEYS[2], ARGV[1])
