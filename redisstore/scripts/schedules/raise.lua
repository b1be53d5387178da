-- raise.lua: give a schedule that lives here a new generation, higher than the one under which the registry has it elsewhere.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:state      hash  fence, layout
-- ARGV[1] schedule; ARGV[2] its generation here; ARGV[3] the new one is higher than this one
-- Returns the new generation; 0 if another generation is stored here, or no definition.
local name = ARGV[1]
-- uses: clock definition layout
local state = redis.call('HMGET', KEYS[2], 'fence', 'layout')
local refusal = newer(state[2])
if refusal then return refusal end
local h = head(redis.call('HGET', KEYS[1], name))
if not h or is_mark(h.state) or h.generation ~= ARGV[2] then return 0 end
local fence = whole(math.max(tonumber(state[1] or 0), now_us, tonumber(ARGV[3])) + 1)
h.generation = fence
redis.call('HSET', KEYS[1], name, definition(h))
redis.call('HSET', KEYS[2], 'fence', fence, 'layout', LAYOUT)
return fence
