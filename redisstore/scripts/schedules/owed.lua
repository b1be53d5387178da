-- owed.lua: list the schedules whose next occurrence has been owed for some time. A name without a definition is removed.
-- KEYS[1] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[2] …:schedules  hash  schedule -> definition
-- KEYS[3] …:cursors    hash  schedule -> cursor
-- KEYS[4] …:zones      hash  schedule -> the local time of the occurrence at its cursor, see lib/zones.lua
-- KEYS[5] …:state      hash  layout
-- ARGV[1] how long, ms; ARGV[2] how many at most; their definitions together have about 1 MiB
-- Returns time (us), then five values for each schedule: name, definition, cursor, since (Unix ms), its entry in zones (empty: none).
local OWED, SCHEDULES, CURSORS, ZONES = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
-- uses: limits clock layout
local refusal = newer(redis.call('HGET', KEYS[5], 'layout'))
if refusal then return refusal end
local answer = { whole(now_us) }
local list = redis.call('ZRANGEBYSCORE', OWED, '-inf', whole(now_ms - tonumber(ARGV[1])), 'LIMIT', 0, tonumber(ARGV[2]), 'WITHSCORES')
if #list == 0 then return answer end
local names = {}
local bytes = 0
for i = 1, #list, 2 do
  bytes = bytes + redis.call('HSTRLEN', SCHEDULES, list[i])
  if i > 1 and bytes > CALL_BYTES then break end
  names[#names + 1] = list[i]
end
local definitions = redis.call('HMGET', SCHEDULES, unpack(names))
local cursors = redis.call('HMGET', CURSORS, unpack(names))
local entries = redis.call('HMGET', ZONES, unpack(names))
for i, name in ipairs(names) do
  if definitions[i] then
    for _, value in ipairs({ name, definitions[i], cursors[i] or '', list[2 * i], entries[i] or '' }) do answer[#answer + 1] = value end
  else
    redis.call('ZREM', OWED, name) -- removed: nothing is owed
  end
end
return answer
