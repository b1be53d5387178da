-- announce_worker.lua: record the description of a worker, and that it lives. A live worker calls this every four minutes.
-- KEYS[1] …:workers  hash  worker -> {"seen_ms":…,"since_ms":…,…}: its last call of this script and its start, Unix ms, and ARGV[2]
-- ARGV[1] worker; ARGV[2] its description: a JSON object without its first brace; ARGV[3] how long it has run, ms
-- ARGV[4] how long a worker is kept that does not call this any more, ms
-- Returns its time, Unix ms.
local WORKERS = KEYS[1]
local SOME = 100 -- entries that a call reads: every live worker calls this, so all are read in time
-- uses: clock
local stored = redis.call('HGET', WORKERS, ARGV[1])
local since = tonumber(stored and string.match(stored, '"since_ms":(%d+)') or now_ms - tonumber(ARGV[3]))
local gone, some = {}, redis.call('HRANDFIELD', WORKERS, SOME, 'WITHVALUES')
for i = 1, #some, 2 do
  local seen = tonumber(string.match(some[i + 1], '"seen_ms":(%d+)') or 0)
  if seen < now_ms - tonumber(ARGV[4]) and some[i] ~= ARGV[1] then gone[#gone + 1] = some[i] end
end
if #gone > 0 then redis.call('HDEL', WORKERS, unpack(gone)) end
redis.call('HSET', WORKERS, ARGV[1], '{"seen_ms":' .. whole(now_ms) .. ',"since_ms":' .. whole(math.min(since, now_ms)) .. ',' .. ARGV[2])
return now_ms
