-- move_end.lua: end the move of a schedule in the queue that it left: remove its name from owed. The mark remains until it is swept.
-- The queues that it has left before are stored where it lives now.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[3] …:origins    hash  schedule -> queues that it has left
-- KEYS[4] …:notes      hash  schedule -> note of its pause
-- KEYS[5] …:owners     hash  schedule -> its owner
-- ARGV[1] schedule; ARGV[2] generation of the mark
-- Returns 1 if the name was in owed, 0 if it was not, -1 if there is no such mark: this queue may be at an earlier state.
-- uses: definition
local h = head(redis.call('HGET', KEYS[1], ARGV[1]))
if not h or h.generation ~= ARGV[2] or not is_mark(h.state) then return -1 end
redis.call('ZSCORE', KEYS[2], ARGV[1]) -- the types are checked before the first write
redis.call('HLEN', KEYS[4])
redis.call('HLEN', KEYS[5])
redis.call('HDEL', KEYS[3], ARGV[1])
redis.call('HDEL', KEYS[4], ARGV[1])
redis.call('HDEL', KEYS[5], ARGV[1])
return redis.call('ZREM', KEYS[2], ARGV[1])
