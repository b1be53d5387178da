-- open_batch.lua: create a batch at its home, or return the one that has its ID.
-- KEYS[1] …:batch:<batch>  hash  its record, see lib/batch.lua
-- KEYS[2] …:made           zset  batch -> when it was created, Unix ms
-- KEYS[3] …:tended         zset  batch -> instant from which somebody must look after it, Unix ms
-- KEYS[4] …:state          hash  layout
-- ARGV[1] the batch; ARGV[2] spec; ARGV[3] keep; ARGV[4] keepdead; ARGV[5] flags, see lib/batch.lua
-- Returns time (us); 1 it was created, 2 there is one that was created with the same, 3 there is one that was created with something else; the fields of the record.
local BATCH, MADE, TENDED, STATE = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local TEND_MS = 60000
-- uses: clock layout batch
local layout = redis.call('HGET', STATE, 'layout')
local refusal = newer(layout)
if refusal then return refusal end
local record, fields = read_record(BATCH)
if record then
  local same = record.spec == ARGV[2] and record.keep == ARGV[3] and record.keepdead == ARGV[4] and record.flags == ARGV[5]
  return { whole(now_us), same and 2 or 3, fields }
end
redis.call('ZCARD', MADE)
redis.call('ZCARD', TENDED)
redis.call('HSET', BATCH, 'state', 'open', 'rev', '1', 'made', whole(now_ms), 'position', '0', 'hash', '', 'spec', ARGV[2], 'keep', ARGV[3], 'keepdead', ARGV[4], 'flags', ARGV[5])
redis.call('ZADD', MADE, whole(now_ms), ARGV[1])
redis.call('ZADD', TENDED, whole(now_ms + TEND_MS), ARGV[1])
if layout ~= LAYOUT then redis.call('HSET', STATE, 'layout', LAYOUT) end
-- read after write: the answer has the new record
return { whole(now_us), 1, redis.call('HGETALL', BATCH) }
