-- delete_batch.lua: remove the record of a batch that has ended.
-- KEYS[1] …:batch:<batch>  hash  its record, see lib/batch.lua
-- KEYS[2] …:made           zset  batch -> when it was created, Unix ms
-- KEYS[3] …:tended         zset  batch -> instant from which somebody must look after it, Unix ms
-- KEYS[4] …:state          hash  layout
-- ARGV[1] the batch
-- Returns time (us); 1 it was removed; 0 there is no such batch; 3 it has not ended.
local BATCH, MADE, TENDED = KEYS[1], KEYS[2], KEYS[3]
-- uses: clock layout
local refusal = newer(redis.call('HGET', KEYS[4], 'layout'))
if refusal then return refusal end
local found = redis.call('HMGET', BATCH, 'state', 'ended')
redis.call('ZCARD', MADE)
redis.call('ZCARD', TENDED)
if found[1] and not found[2] then return { whole(now_us), 3 } end
redis.call('DEL', BATCH)
redis.call('ZREM', MADE, ARGV[1])
redis.call('ZREM', TENDED, ARGV[1])
return { whole(now_us), found[1] and 1 or 0 }
