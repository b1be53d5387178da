-- move_arrive.lua: create a schedule that moves to this queue, with its revision, creation, cursor, runs used and counters. If that
-- was done before, or the schedule has lived here since and left or was deleted, it writes nothing.
-- Model: ARRIVE_BODY in models/home.pml.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:cursors    hash  schedule -> cursor
-- KEYS[3] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[4] …:gone       zset  schedule that lived here -> when it left or was deleted, Unix us
-- KEYS[5] …:counters   hash
-- KEYS[6] …:state      hash  layout, large
-- KEYS[7] …:origins    hash  schedule -> queues that it has left
-- KEYS[8] …:notes      hash  schedule -> note of its pause
-- KEYS[9] …:owners     hash  schedule -> its owner
-- KEYS[10] …:last      hash  schedule -> its last outcome, see lib/history.lua
-- KEYS[11] …:history   hash  schedule -> its last attempts, see lib/history.lua: the days of runs that ended here meanwhile are added
-- KEYS[12] …:callers   zset  enqueuer -> instant and number of its last call
-- KEYS[13] …:idle      zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[14] …:zones     hash  schedule -> local time of its last occurrence, see lib/zones.lua
-- KEYS[15] …:ends      zset  ends of pauses, see lib/ends.lua
-- ARGV[1] schedule; ARGV[2] the mark in the old queue; ARGV[3] cursor (empty: none); ARGV[4] the queues that it has left, separated by
-- spaces; ARGV[5] this queue; ARGV[6] its note; ARGV[7] its owner (empty: none); ARGV[8] its last outcome (empty: nothing
-- is known), ARGV[9] its last attempts: unfinished runs are counted in the old queue; ARGV[10] its entry in zones (empty: none)
-- Returns the definition here if it has the mark's generation (empty: the generation of the mark is gone); 1 if this call created
-- it; the last generation that is gone here, or that of the mark of a later move: the move must begin again above it; the generation of a definition
-- here that has a higher revision, which the mark must not replace, else 0.
local SCHEDULES, CURSORS, OWED, GONE, COUNTERS, STATE, ORIGINS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local NOTES, OWNERS = KEYS[8], KEYS[9]
local name = ARGV[1]
-- uses: limits clock ends layout seconds strings definition counters history histories
local state = redis.call('HMGET', STATE, 'layout')
local refusal = newer(state[1])
if refusal then return refusal end
local h = head(ARGV[2])
local text = redis.call('HGET', SCHEDULES, name)
local here = head(text)
local gone = redis.call('ZSCORE', GONE, name)
redis.call('HGET', CURSORS, name) -- the types are checked before the first write
redis.call('ZSCORE', OWED, name)
redis.call('HLEN', ORIGINS)
redis.call('HLEN', NOTES)
redis.call('HLEN', OWNERS)
redis.call('HLEN', KEYS[14])
redis.call('ZCARD', KEYS[15])
local last = redis.call('HGET', KEYS[10], name)
local ended, drawn = unpack(redis.call('HMGET', KEYS[11], name, '\t'))
local fields = { counters_of(name) }
local counted = redis.call('HMGET', COUNTERS, unpack(fields))
if here and here.generation == h.generation then return { text, 0, '0', '0' } end
local generation = tonumber(h.generation)
local lives = here and not is_mark(here.state)
if here and tonumber(here.generation) > generation then return { '', 0, lives and '0' or here.generation, '0' } end
if not lives and tonumber(gone or 0) >= generation then return { '', 0, string.format('%.0f', tonumber(gone)), '0' } end
if lives and tonumber(here.revision) > tonumber(h.revision) then return { '', 0, '0', here.generation } end

local before, since, counts = string.match(h.state, '^moved to %S+ (%S+) (%d+) (%S+)$')
local origins, been_here, i = {}, {}, 0
for queue in string.gmatch(ARGV[4], '%S+') do
  if not been_here[queue] and queue ~= ARGV[5] then origins[#origins + 1] = queue end
  been_here[queue] = true
end
-- Runs that were taken here before the schedule left are counted here. An older definition that is replaced has counts that moved with the schedule.
local counted_here = been_here[ARGV[5]] and not lives
local totals = {}
for count in string.gmatch(counts, '[^/]+') do
  i = i + 1
  totals[2 * i - 1] = fields[i]
  totals[2 * i] = string.format('%.0f', tonumber(count) + (counted_here and tonumber(counted[i] or 0) or 0))
end
h.state = before
text = definition(h)
redis.call('HSET', SCHEDULES, name, text)
if ARGV[3] == '' then redis.call('HDEL', CURSORS, name) else redis.call('HSET', CURSORS, name, ARGV[3]) end
if ARGV[6] == '' then redis.call('HDEL', NOTES, name) else redis.call('HSET', NOTES, name, ARGV[6]) end
set_end(KEYS[15], 'schedule\t' .. name, before == 'paused' and ARGV[6] or '')
if ARGV[10] == '' then redis.call('HDEL', KEYS[14], name) else redis.call('HSET', KEYS[14], name, ARGV[10]) end
if ARGV[7] == '' then redis.call('HDEL', OWNERS, name) else redis.call('HSET', OWNERS, name, ARGV[7]) end
if ARGV[8] == '' then
  redis.call('HDEL', KEYS[10], name)
else
  -- runs that were taken here before the schedule left have not ended
  local created, keep, rest = string.match(ARGV[8], '^(%S+) (%d+) %d+ (.+)$')
  local unfinished = been_here[ARGV[5]] and string.match(last or '', '^%S+ %d+ (%d+) ') or '0'
  redis.call('HSET', KEYS[10], name, created .. ' ' .. keep .. ' ' .. unfinished .. ' ' .. rest)
end
local histories = entries()
local days = histories.count_days(histories.parse(ARGV[9]).days, histories.parse(counted_here and ended or '').days, {})
remove_fields(KEYS[11], fields_of(name, ended))
if ARGV[8] ~= '' and (ARGV[9] ~= '' or days ~= '') then histories.set(KEYS[11], histories.arrived(name, ARGV[9], days, drawn)) end
if totals[1] then redis.call('HSET', COUNTERS, unpack(totals)) end
redis.call('HSET', ORIGINS, name, table.concat(origins, ' '))
if before == 'live' then redis.call('ZADD', OWED, since, name) else redis.call('ZREM', OWED, name) end
redis.call('ZREM', GONE, name)
if #text > LARGE_BYTES then redis.call('HSETNX', STATE, 'large', '1') end -- takes must read lengths first
if state[1] ~= LAYOUT then redis.call('HSET', STATE, 'layout', LAYOUT) end
-- delete_queue.lua lets these expire
redis.call('PERSIST', GONE)
redis.call('PERSIST', OWNERS)
if not state[1] then
  redis.call('PERSIST', KEYS[12])
  redis.call('PERSIST', KEYS[13])
end
return { text, 1, '0', '0' }
