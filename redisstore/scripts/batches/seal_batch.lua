-- seal_batch.lua: seal an open batch, if all its partitions have answered that they take no items any more.
-- Model: SEALING in models/batch.pml.
-- KEYS[1] …:batch:<batch>  hash  its record, see lib/batch.lua
-- KEYS[2] …:tended         zset  batch -> instant from which somebody must look after it, Unix ms
-- KEYS[3] …:state          hash  layout
-- ARGV[1] the batch; ARGV[2] the position of its last item, ARGV[3] the hash of all items; ARGV[4] 1: seal it as it is; ARGV[5...] two values for each
-- partition that was asked: its path, its report
-- Returns time (us); 1 it is sealed; 2 the other partitions must be asked; 0 there is no such batch; 3 other items were noted, or it was cancelled; the fields of the
-- record.
local BATCH, TENDED, STATE = KEYS[1], KEYS[2], KEYS[3]
-- uses: clock layout batch
local refusal = newer(redis.call('HGET', STATE, 'layout'))
if refusal then return refusal end
local record, fields = read_record(BATCH)
if not record then return { whole(now_us), 0, {} } end
local same = ARGV[4] == '1' or record.position == ARGV[2] and record.hash == ARGV[3]
if not same or record.state == 'cancelled' and not record.sealed then return { whole(now_us), 3, fields } end
if record.state ~= 'open' then return { whole(now_us), 1, fields } end
local changes = { 'rev', whole(tonumber(record.rev) + 1), 'sealing', '1' }
for i = 5, #ARGV, 2 do apply_report(record, changes, ARGV[i], ARGV[i + 1]) end
local left, _, _, closed = sums_of(record)
if closed then
  changes[#changes + 1], changes[#changes + 2] = 'state', 'running'
  changes[#changes + 1], changes[#changes + 2] = 'sealed', whole(now_ms)
end
redis.call('ZCARD', TENDED)
redis.call('HSET', BATCH, unpack(changes))
if closed and left <= 0 then redis.call('ZADD', TENDED, whole(now_ms + 1000), ARGV[1]) end
-- read after write: the answer has the new record
return { whole(now_us), closed and 1 or 2, redis.call('HGETALL', BATCH) }
