-- move_arrive.lua: take over a schedule that moves to this queue, with its revision, creation, cursor, runs used and counters. If that
-- was done before, or the schedule has lived here since and left or was deleted, it writes nothing.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:cursors    hash  schedule -> cursor
-- KEYS[3] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[4] …:gone       zset  schedule that lived here -> when it left or was deleted, Unix us
-- KEYS[5] …:counters   hash
-- KEYS[6] …:state      hash  layout, large
-- ARGV[1] schedule; ARGV[2] the mark in the old queue; ARGV[3] cursor (empty: none); ARGV[4...] counters, in the order of counters_of
-- Returns the definition here if it has the mark's generation (empty: the generation of the mark is gone); 1 if this call took it
-- over; the last generation that is gone here.
local SCHEDULES, CURSORS, OWED, GONE, COUNTERS, STATE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local name = ARGV[1]
-- uses: limits layout definition counters
local state = redis.call('HMGET', STATE, 'layout')
local refusal = newer(state[1])
if refusal then return refusal end
local h = head(ARGV[2])
local text = redis.call('HGET', SCHEDULES, name)
local here = head(text)
local gone = redis.call('ZSCORE', GONE, name)
redis.call('HGET', CURSORS, name) -- the types are checked before anything is written
redis.call('ZSCORE', OWED, name)
redis.call('HLEN', COUNTERS)
if here and here.generation == h.generation then return { text, 0, '0' } end
local generation = tonumber(h.generation)
if here and tonumber(here.generation) > generation then return { '', 0, '0' } end
if not here and tonumber(gone or 0) >= generation then return { '', 0, string.format('%.0f', tonumber(gone)) } end

local before, since = string.match(h.state, '^moved to %S+ (%S+) (%d+)$')
h.state = before
text = definition(h)
redis.call('HSET', SCHEDULES, name, text)
if ARGV[3] == '' then redis.call('HDEL', CURSORS, name) else redis.call('HSET', CURSORS, name, ARGV[3]) end
for i, field in ipairs({ counters_of(name) }) do
  if ARGV[3 + i] == '' then redis.call('HDEL', COUNTERS, field) else redis.call('HSET', COUNTERS, field, ARGV[3 + i]) end
end
if before == 'live' then redis.call('ZADD', OWED, since, name) else redis.call('ZREM', OWED, name) end
redis.call('ZREM', GONE, name)
if #text > LARGE_BYTES then redis.call('HSETNX', STATE, 'large', '1') end -- takes must ask for lengths first
if state[1] ~= LAYOUT then redis.call('HSET', STATE, 'layout', LAYOUT) end
return { text, 1, '0' }
