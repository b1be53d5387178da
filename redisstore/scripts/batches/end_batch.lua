-- end_batch.lua: add the jobs that follow a batch, if its partitions were asked again and nothing has changed. See lib/batch.lua for what holds.
-- Model: END in models/batch.pml.
-- KEYS[1] …:batch:<batch>  hash  its record, see lib/batch.lua
-- KEYS[2] …:tended         zset  batch -> instant from which somebody must look after it, Unix ms
-- KEYS[3] …:state          hash  layout, outbox
-- KEYS[4] …:outbox         zset  jobs that wait to be carried, see lib/outbox.lua
-- KEYS[5] …:outgoing       hash  "<queue>\t<job ID>" -> its value
-- ARGV[1] the batch; ARGV[2] rev as the caller has read it; ARGV[3] how many partitions were asked; two values for each: its path, its report;
-- then, for Ended and for Done, four values each: its queue, empty: there is none; how long after the end it is due, ms; its group; its envelope
-- Returns time (us); 1 the batch has ended, now or before; 2 something has changed, or a member is left; 0 there is no such batch; the fields of the record; 1: this
-- call has added jobs, which are to be carried.
local BATCH, TENDED, STATE = KEYS[1], KEYS[2], KEYS[3]
-- uses: limits clock layout outbox batch
local state = redis.call('HMGET', STATE, 'layout', 'outbox')
local refusal = newer(state[1])
if refusal then return refusal end
local record, fields = read_record(BATCH)
if not record then return { whole(now_us), 0, {}, 0 } end
local n = tonumber(ARGV[3])
local changes, given, same = { 'rev', whole(tonumber(record.rev) + 1) }, {}, record.rev == ARGV[2]
for i = 4, 3 + 2 * n, 2 do
  given['p:' .. ARGV[i]] = ARGV[i + 1]
  if apply_report(record, changes, ARGV[i], ARGV[i + 1]) then same = false end
end
for field, text in pairs(record) do
  if string.sub(field, 1, 2) == 'p:' and given[field] ~= text then same = false end
end
local left, dead, cancelled, closed, grows = sums_of(record)
redis.call('ZCARD', TENDED)
redis.call('ZCARD', KEYS[4])
redis.call('HLEN', KEYS[5])
if not same or not record.sealed or not closed or grows or left > 0 then
  if #changes > 2 then
    redis.call('HSET', BATCH, unpack(changes))
    -- read after write: the answer has the new record
    fields = redis.call('HGETALL', BATCH)
  end
  return { whole(now_us), 2, fields, 0 }
end
local ends = not record.ended
local done = record.state ~= 'cancelled' and not record.done and dead == 0 and (cancelled == 0 or string.find(record.flags, 'w', 1, true))
if not ends and not done then return { whole(now_us), 1, fields, 0 } end
local sent = {}

-- add adds a job that follows, whose values begin after ARGV[at].
local function add(at, ending)
  if ARGV[at + 1] == '' then return end
  local group = ARGV[at + 3] ~= '' and ARGV[at + 3] or nil
  sent[#sent + 1] = { id = ARGV[1] .. ending, queue = ARGV[at + 1], in_ms = tonumber(ARGV[at + 2]), group = group, body = ARGV[at + 4] }
end
if ends then
  changes[#changes + 1], changes[#changes + 2] = 'ended', whole(now_ms)
  add(3 + 2 * n, '#ended')
end
if done then
  changes[#changes + 1], changes[#changes + 2] = 'done', whole(now_ms)
  add(7 + 2 * n, '#done')
end
if record.state ~= 'cancelled' then changes[#changes + 1], changes[#changes + 2] = 'state', (done or record.done) and 'done' or 'ended' end
redis.call('HSET', BATCH, unpack(changes))
if #sent > 0 then save_sent(read_outbox(state[2]), sent, KEYS[4], KEYS[5], STATE) end
if state[1] ~= LAYOUT then redis.call('HSET', STATE, 'layout', LAYOUT) end
redis.call('ZADD', TENDED, whole(now_ms + 1000), ARGV[1]) -- its partitions are told, and then it waits until it is forgotten
-- read after write: the answer has the new record
return { whole(now_us), 1, redis.call('HGETALL', BATCH), #sent > 0 and 1 or 0 }
