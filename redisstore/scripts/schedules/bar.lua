-- bar.lua: record that a generation is gone, in the queue that the registry names and that has lost its schedule. After that a late declaration or
-- arrival with this generation writes nothing. It is refused if the queue has a definition, or the mark of a later move.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:gone       zset  schedule that lived here -> when it left or was deleted, Unix us
-- KEYS[3] …:state      hash  layout
-- ARGV[1] schedule; ARGV[2] its generation in the registry
-- Returns 1, or 0 if it was refused.
local name, generation = ARGV[1], tonumber(ARGV[2])
-- uses: definition layout
local layout = redis.call('HGET', KEYS[3], 'layout')
local refusal = newer(layout)
if refusal then return refusal end
local text = redis.call('HGET', KEYS[1], name)
local h = head(text)
if text and not (h and is_mark(h.state) and tonumber(h.generation) <= generation) then return 0 end
-- exactly this generation: a later one would look like a deletion
if tonumber(redis.call('ZSCORE', KEYS[2], name) or 0) < generation then redis.call('ZADD', KEYS[2], ARGV[2], name) end
if layout ~= LAYOUT then redis.call('HSET', KEYS[3], 'layout', LAYOUT) end
return 1
