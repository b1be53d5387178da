-- grow_batch.lua: note at the home of a batch that a handler of a member is about to add a job to it.
-- Model: GROWNOTE in models/batch.pml.
-- KEYS[1] …:batch:<batch>  hash  its record, see lib/batch.lua
-- KEYS[2] …:tended         zset  batch -> instant from which somebody must look after it, Unix ms
-- KEYS[3] …:state          hash  layout
-- ARGV[1] the batch; ARGV[2] the token of the call; ARGV[3] the partition, "<queue>/<index>"
-- Returns time (us); 1 noted; 0 there is no such batch; 3 it has ended, or was cancelled; the fields of the record.
local BATCH, TENDED, STATE = KEYS[1], KEYS[2], KEYS[3]
local VOID_MS = 60000 -- then somebody asks the partition whether the job was added
-- uses: clock layout batch
local refusal = newer(redis.call('HGET', STATE, 'layout'))
if refusal then return refusal end
local record, fields = read_record(BATCH)
if not record then return { whole(now_us), 0, {} } end
if record.ended or record.state == 'cancelled' then return { whole(now_us), 3, fields } end
local changes = { 'rev', whole(tonumber(record.rev) + 1), 'g:' .. ARGV[2], whole(now_ms) .. ' ' .. ARGV[3] }
if not record['p:' .. ARGV[3]] then changes[#changes + 1], changes[#changes + 2] = 'p:' .. ARGV[3], UNKNOWN end
local at = tonumber(redis.call('ZSCORE', TENDED, ARGV[1]) or '')
redis.call('HSET', BATCH, unpack(changes))
if not at or at > now_ms + VOID_MS then redis.call('ZADD', TENDED, whole(now_ms + VOID_MS), ARGV[1]) end
return { whole(now_us), 1, fields }
