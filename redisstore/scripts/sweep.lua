-- sweep.lua: trim what only grows, at most 500 items a call.
-- KEYS[1] …:dead     zset  job ID -> instant it was given up, Unix ms
-- KEYS[2] …:jobs     hash  job ID -> envelope
-- KEYS[3] …:callers  zset  enqueuer -> seconds x 2^20 + number of its last call; #enqueued
-- KEYS[4] …:idle     zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[5] …:state    hash  parked
-- KEYS[6] …:crashes  hash  job ID -> times its holder vanished
-- KEYS[7] …:schedules  hash  schedule -> definition
-- KEYS[8] …:cursors    hash  schedule -> cursor
-- KEYS[9] …:owed       zset  schedule -> instant
-- KEYS[10] …:moved     zset  schedule -> instant its mark was made, Unix ms
-- KEYS[11] …:counters   hash  <schedule>/started, …
-- KEYS[12...] …:parked:<name>  zset  job ID -> instant parked, Unix ms
-- ARGV[1] how long dead jobs are kept, ms; ARGV[2] how many at most; ARGV[3] how long parked jobs and marks of moved schedules stay, ms
-- ARGV[4...] the names of the parked lists
-- Returns 1 if more remain.
local DEAD, JOBS, CALLERS, IDLE, STATE, CRASHES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local SCHEDULES, CURSORS, OWED, MOVED, COUNTERS = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local PARKED = 11
local STEP = 500
-- uses: callers clock counters definition parked
local parked = read_parked(redis.call('HGET', STATE, 'parked'))
local gone = redis.call('ZRANGEBYSCORE', DEAD, '-inf', whole(now_ms - tonumber(ARGV[1])), 'LIMIT', 0, STEP)
local over = redis.call('ZCARD', DEAD) - tonumber(ARGV[2])
if #gone < over then gone = redis.call('ZRANGE', DEAD, 0, math.min(over, STEP) - 1) end
local given_up = {}
local long_ago = whole(now_ms - tonumber(ARGV[3]))
local marks = redis.call('ZRANGEBYSCORE', MOVED, '-inf', long_ago, 'LIMIT', 0, STEP)
local texts = #marks > 0 and redis.call('HMGET', SCHEDULES, unpack(marks)) or {}
local owing = {}
for i, name in ipairs(marks) do owing[i] = redis.call('ZSCORE', OWED, name) end
for i = PARKED + 1, #KEYS do
  given_up[i] = redis.call('ZRANGEBYSCORE', KEYS[i], '-inf', long_ago, 'LIMIT', 0, STEP)
end

local touched = #gone
redis.call('ZREM', DEAD, '') -- lets the rest go on when the server is out of memory
if #gone > 0 then
  redis.call('ZREM', DEAD, unpack(gone))
  redis.call('HDEL', JOBS, unpack(gone))
end
for i = PARKED + 1, #KEYS do
  for _, id in ipairs(given_up[i]) do
    redis.call('ZADD', DEAD, whole(now_ms), id)
    redis.call('HDEL', CRASHES, id)
    redis.call('ZREM', KEYS[i], id)
    touched = touched + 1
  end
  set_parked(parked, ARGV[i - PARKED + 3], redis.call('EXISTS', KEYS[i]) == 1)
end
save_parked(parked, STATE)
for i, name in ipairs(marks) do
  local _, state = head(texts[i])
  if not owing[i] then -- owed still: the move is not done
    redis.call('ZREM', MOVED, name)
    if is_mark(state) then
      redis.call('HDEL', SCHEDULES, name)
      redis.call('HDEL', CURSORS, name)
      redis.call('HDEL', COUNTERS, counters_of(name))
    end
  end
end
redis.call('ZREMRANGEBYSCORE', CALLERS, '1e15', whole((now_s - 3600) * ROUND)) -- not #enqueued, which is less
redis.call('ZREMRANGEBYSCORE', IDLE, '-inf', whole(now_ms - 60000))
return touched >= STEP and 1 or 0
