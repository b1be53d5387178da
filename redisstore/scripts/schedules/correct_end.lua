-- correct_end.lua: correct the entry of a schedule in the index of the ends of pauses, after its time has come and pause_schedule.lua has ended no pause. The
-- note of the pause decides: if it has no end, or there is no pause, the entry is removed; if its end is another one, the entry gets that. The entry of a definition that
-- the registry does not have here yet is looked at again in a minute.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:notes      hash  schedule -> note of its pause, see lib/note.lua
-- KEYS[3] …:state      hash  layout
-- KEYS[4] …:ends       zset  ends of pauses, see lib/ends.lua
-- ARGV[1] schedule; ARGV[2] its generation in the registry if that has it in this queue, else 0
-- Returns 1.
local ENDS, name = KEYS[4], ARGV[1]
-- uses: clock ends layout definition
local refusal = newer(redis.call('HGET', KEYS[3], 'layout'))
if refusal then return refusal end
local h = head(redis.call('HGET', KEYS[1], name))
local note = redis.call('HGET', KEYS[2], name)
redis.call('ZCARD', ENDS)
local entry = 'schedule\t' .. name
local paused = h and h.state == 'paused' and note or ''
redis.call('ZREM', ENDS, '') -- makes the other writes possible when the server is out of memory
if end_of(paused) and tonumber(h.generation) > tonumber(ARGV[2]) then
  redis.call('ZADD', ENDS, whole(math.max(end_of(paused), now_ms + 60000)), entry)
else
  set_end(ENDS, entry, paused)
end
return 1
