-- move_end.lua: end the move of a schedule in the queue that it left: remove its name from owed. The mark remains until it is swept, with its note,
-- its owner and the queues that it has left before: if the new queue loses the schedule, it is created again from all of these.
-- Model: END_BODY in models/home.pml.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[3] …:state      hash  layout
-- ARGV[1] schedule; ARGV[2] generation of the mark
-- Returns 1 if the name was in owed, 0 if it was not, -1 if there is no such mark: this queue may be at an earlier state.
-- uses: layout definition
local refusal = newer(redis.call('HGET', KEYS[3], 'layout'))
if refusal then return refusal end
local h = head(redis.call('HGET', KEYS[1], ARGV[1]))
if not h or h.generation ~= ARGV[2] or not is_mark(h.state) then return -1 end
redis.call('ZSCORE', KEYS[2], ARGV[1]) -- the type is checked before the first write
return redis.call('ZREM', KEYS[2], ARGV[1])
