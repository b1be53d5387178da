-- report_batch.lua: store the counts of a partition at the home of the batch.
-- Model: STORE in models/batch.pml.
-- KEYS[1] …:batch:<batch>  hash  its record, see lib/batch.lua
-- KEYS[2] …:tended         zset  batch -> instant from which somebody must look after it, Unix ms
-- KEYS[3] …:state          hash  layout
-- ARGV[1] the batch; ARGV[2] the partition, "<queue>/<index>"; ARGV[3] its report; ARGV[4...] tokens whose jobs the report counts, or which are void
-- Returns time (us); 1 no member is left according to the reports, and end_batch.lua is to be called; 2 members are left, or there is nothing to do; 0 there
-- is no such batch; then 0 if the report is stored, else the higher version that the home has: then the tokens are not cleared either.
local BATCH, TENDED, STATE = KEYS[1], KEYS[2], KEYS[3]
local LOOK_MS = 1000 -- somebody else looks after the batch if the caller does not
-- uses: clock layout batch
local refusal = newer(redis.call('HGET', STATE, 'layout'))
if refusal then return refusal end
local record = read_record(BATCH)
if not record then return { whole(now_us), 0, 0 } end
local changes, gone = { 'rev', whole(tonumber(record.rev) + 1) }, {}
local _, counts = apply_report(record, changes, ARGV[2], ARGV[3])
for i = 4, counts and #ARGV or 0 do -- a report of an earlier state does not count these jobs
  local field = 'g:' .. ARGV[i]
  if record[field] then gone[#gone + 1], record[field] = field, nil end
end
local left, dead, cancelled, _, grows = sums_of(record)
local wants_done = record.state ~= 'cancelled' and not record.done and dead == 0 and (cancelled == 0 or string.find(record.flags, 'w', 1, true))
local ends = record.sealed and not grows and left <= 0 and (not record.ended or wants_done)
redis.call('ZCARD', TENDED)
if #gone > 0 then redis.call('HDEL', BATCH, unpack(gone)) end
if #changes > 2 or #gone > 0 then redis.call('HSET', BATCH, unpack(changes)) end
if ends or record.ended and left > 0 then redis.call('ZADD', TENDED, whole(now_ms + LOOK_MS), ARGV[1]) end -- members were requeued: it is in progress again
return { whole(now_us), ends and 1 or 2, counts and 0 or string.match(record['p:' .. ARGV[2]], '^%d+') }
