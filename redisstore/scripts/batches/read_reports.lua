-- read_reports.lua: return the counts of a partition that are to be reported now.
-- Model: READ in models/batch.pml.
-- KEYS[1] …:batches  hash  batch -> its counts, see lib/members.lua
-- KEYS[2] …:reports  zset  batch -> instant from which its counts are to be reported, Unix ms
-- KEYS[3] …:state    hash  layout
-- ARGV[1] how many at most
-- Returns time (us); 1 if there are more, else 0; two values for each: the batch, its counts.
local BATCHES, REPORTS = KEYS[1], KEYS[2]
-- uses: clock layout
local refusal = newer(redis.call('HGET', KEYS[3], 'layout'))
if refusal then return refusal end
local most = tonumber(ARGV[1])
local due, answer = redis.call('ZRANGEBYSCORE', REPORTS, '-inf', whole(now_ms), 'LIMIT', '0', whole(most + 1)), { whole(now_us), 0 }
if #due > most then due[most + 1], answer[2] = nil, 1 end
for i, text in ipairs(#due > 0 and redis.call('HMGET', BATCHES, unpack(due)) or {}) do
  answer[#answer + 1] = due[i]
  answer[#answer + 1] = text or ''
end
return answer
