-- cancel_batch.lua: mark a batch at its home as cancelled.
-- KEYS[1] …:batch:<batch>  hash  its record, see lib/batch.lua
-- KEYS[2] …:tended         zset  batch -> instant from which somebody must look after it, Unix ms
-- KEYS[3] …:state          hash  layout
-- ARGV[1] the batch
-- Returns time (us); 1 it is cancelled, now or before; 0 there is no such batch; 3 it has ended; the fields of the record.
local BATCH, TENDED, STATE = KEYS[1], KEYS[2], KEYS[3]
-- uses: clock layout batch
local refusal = newer(redis.call('HGET', STATE, 'layout'))
if refusal then return refusal end
local record, fields = read_record(BATCH)
if not record then return { whole(now_us), 0, {} } end
if record.state == 'cancelled' then return { whole(now_us), 1, fields } end
if record.ended then return { whole(now_us), 3, fields } end
redis.call('ZCARD', TENDED)
redis.call('HSET', BATCH, 'state', 'cancelled', 'sealing', '1', 'sealed', record.sealed or whole(now_ms), 'rev', whole(tonumber(record.rev) + 1))
redis.call('ZADD', TENDED, whole(now_ms + 1000), ARGV[1]) -- somebody else continues if the caller vanishes
-- read after write: the answer has the new record
return { whole(now_us), 1, redis.call('HGETALL', BATCH) }
