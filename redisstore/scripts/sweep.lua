-- sweep.lua: trim what only grows, at most 500 items a call in total: dead jobs, parked jobs and marks of schedules that have moved.
-- Registrations of workers and enqueuers that are gone go with one command each, however many.
-- KEYS[1]  …:dead       zset  job ID -> instant it was given up, Unix ms
-- KEYS[2]  …:jobs       hash  job ID -> envelope
-- KEYS[3]  …:callers    zset  enqueuer -> instant and number of its last call, see lib/callers.lua; #enqueued
-- KEYS[4]  …:idle       zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[5]  …:state      hash  parked
-- KEYS[6]  …:crashes    hash  job ID -> times its holder vanished
-- KEYS[7]  …:schedules  hash  schedule -> definition
-- KEYS[8]  …:cursors    hash  schedule -> cursor
-- KEYS[9]  …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[10] …:gone       zset  schedule that lived here -> when it left or was deleted, Unix us
-- KEYS[11...] …:parked:<name>  zset  job ID -> instant parked, Unix ms
-- ARGV[1] how long dead jobs are kept, ms; ARGV[2] how many at most; ARGV[3] how long parked jobs and marks of moved schedules stay, ms
-- ARGV[4...] the names of the parked lists
-- Returns 1 if more remain.
local DEAD, JOBS, CALLERS, IDLE, STATE, CRASHES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local SCHEDULES, CURSORS, OWED, GONE = KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local PARKED = 10 -- the parked lists come behind KEYS[10]
local ASLEEP_MS = 60000 -- a worker that has slept for longer without renewing its registration is gone
local CALLER_S = 3600 -- an enqueuer's last call is remembered for so long: it may be sent again
-- uses: limits callers clock definition parked

-- oldest returns the members of a sorted set up to this score, at most max of them, and whether there are more.
local function oldest(key, score, max)
  local members = redis.call('ZRANGEBYSCORE', key, '-inf', score, 'LIMIT', 0, max + 1)
  local more = #members > max
  if more then members[max + 1] = nil end
  return members, more
end

local parked = read_parked(redis.call('HGET', STATE, 'parked'))
local left = MAX_ITEMS -- how many items this call may still touch

-- dead jobs: those that are too old, and the oldest of those that are too many
local too_old = redis.call('ZCOUNT', DEAD, '-inf', whole(now_ms - tonumber(ARGV[1])))
local excess = math.max(too_old, redis.call('ZCARD', DEAD) - tonumber(ARGV[2]), 0)
local buried = excess > 0 and redis.call('ZRANGE', DEAD, 0, math.min(excess, left) - 1) or {}
local more = excess > left
left = left - #buried

-- parked jobs for which no worker came
local long_ago = whole(now_ms - tonumber(ARGV[3]))
local given_up, more_parked = {}, false
for i = PARKED + 1, #KEYS do
  given_up[i], more_parked = oldest(KEYS[i], long_ago, left)
  more = more or more_parked
  left = left - #given_up[i]
end

-- marks of schedules that moved, and what is remembered of deleted ones; those whose schedule is still owed stay, for the move is not done
local marks, more_marks = oldest(GONE, whole((now_ms - tonumber(ARGV[3])) * 1000), left)
local texts = #marks > 0 and redis.call('HMGET', SCHEDULES, unpack(marks)) or {}
local since = #marks > 0 and redis.call('ZMSCORE', OWED, unpack(marks)) or {}
local done, marked = {}, {} -- names of the marks that go; those whose definition is still the mark
for i, name in ipairs(marks) do
  if not since[i] then
    done[#done + 1] = name
    local h = head(texts[i])
    if h and is_mark(h.state) then marked[#marked + 1] = name end
  end
end
more = more or more_marks and (left == 0 or #done > 0) -- else marks that stay would have this called again and again

redis.call('ZREM', DEAD, '') -- lets the rest go on when the server is out of memory
if #buried > 0 then
  redis.call('ZREM', DEAD, unpack(buried))
  redis.call('HDEL', JOBS, unpack(buried))
end
for i = PARKED + 1, #KEYS do
  for _, id in ipairs(given_up[i]) do
    redis.call('ZADD', DEAD, whole(now_ms), id)
    redis.call('HDEL', CRASHES, id)
    redis.call('ZREM', KEYS[i], id)
  end
  set_parked(parked, ARGV[i - PARKED + 3], redis.call('EXISTS', KEYS[i]) == 1)
end
save_parked(parked, STATE)
if #done > 0 then redis.call('ZREM', GONE, unpack(done)) end
for _, name in ipairs(marked) do
  redis.call('HDEL', SCHEDULES, name)
  redis.call('HDEL', CURSORS, name)
end
redis.call('ZREMRANGEBYSCORE', CALLERS, '1e15', whole((now_s - CALLER_S) * ROUND)) -- not #enqueued, whose score is lower
redis.call('ZREMRANGEBYSCORE', IDLE, '-inf', whole(now_ms - ASLEEP_MS))
return more and 1 or 0
