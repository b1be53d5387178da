-- report.lua: store the progress of jobs in flight. The newest report of a job counts.
-- KEYS[1] …:inflight:<session>  hash  job ID -> fence
-- KEYS[2] …:progress            hash  job ID -> progress
-- KEYS[3] …:state               hash  layout
-- ARGV three values a job: ID, fence, progress
-- Returns how many were stored: reports of jobs that the session holds with that fence.
local INFLIGHT, PROGRESS, STATE = KEYS[1], KEYS[2], KEYS[3]
-- uses: layout
local refusal = newer(redis.call('HGET', STATE, 'layout'))
if refusal then return refusal end
local ids, kept = {}, {}
for i = 1, #ARGV, 3 do ids[#ids + 1] = ARGV[i] end
local held = redis.call('HMGET', INFLIGHT, unpack(ids))
redis.call('HLEN', PROGRESS) -- read, so that a key of a wrong type stops the call here
for i = 1, #ARGV, 3 do
  local holds = held[(i + 2) / 3]
  if holds and string.match(holds, '%d+$') == ARGV[i + 1] then
    kept[#kept + 1] = ARGV[i]
    kept[#kept + 1] = ARGV[i + 2]
  end
end
if #kept > 0 then redis.call('HSET', PROGRESS, unpack(kept)) end
return #kept / 2
