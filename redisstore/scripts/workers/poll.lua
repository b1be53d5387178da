-- poll.lua: return whether a partition has something to take. It takes nothing, and renews the caller's place among the sleeping workers.
-- KEYS[1] …:state     hash  paused, parked, layout, limit, groups, outbox, batches
-- KEYS[2] …:due       zset  job ID -> instant it is due, Unix ms
-- KEYS[3] …:ready     list  IDs of jobs to run now
-- KEYS[4] …:idle      zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[5] …:sessions  zset  session -> instant it lapses, Unix ms
-- KEYS[6] …:turns  zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[7] …:opens  zset  group -> instant of its next start, Unix ms
-- ARGV[1] worker; ARGV[2] 1: it continues to sleep unless there is something to take
-- ARGV[3] prefix of the wake-up channels
-- ARGV[4] instant at which it last registered in idle, Unix ms; empty: its present registration counts
-- Returns time (us); more (1, 0); paused (1, 0); instant of the head of due (Unix ms, -1 nothing to wait for); place among the keepers of
-- the alarm (1, 2, 0); the field parked of state (0: no job is parked); earliest lapse (Unix ms, -1); lapsed sessions, two values
-- each: name, lapse; of a queue with a limit, else missing or 0: a job may start (1), all starts are used (2), the maximum number of jobs
-- run, or the limit cannot be read (3); if jobs wait to be carried to other partitions, else missing: 1 more they are to be carried now, 2 more
-- nothing is taken until some are carried (see lib/outbox.lua), 4 more counts of batches are to be reported, 8 more there are such counts (see lib/members.lua).
local STATE, DUE, READY, IDLE, SESSIONS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local TURNS, OPENS = KEYS[6], KEYS[7]
local worker, sleep, wake = ARGV[1], ARGV[2] == '1', ARGV[3]
-- uses: limits clock layout alarm lapse due waiting
local state = redis.call('HMGET', STATE, 'paused', 'parked', 'layout', 'limit', 'groups', 'outbox', 'batches')
local refusal = newer(state[3])
if refusal then return refusal end
local paused = state[1]

local limit, start
if state[4] then
  -- uses: queuelimit
  limit, start = read_limit(state[4]), next_start
end
local more, next_ms = next_take(READY, DUE, TURNS, OPENS, state[5], not paused and limit, start)
local owing
if state[6] then
  -- uses: outbox
  local sums = read_outbox(state[6])
  owing, paused = owes(sums, false), paused or is_full(sums, 1)
  if owing == 0 then owing = nil end
end
if state[7] then
  local due = tonumber(state[7]) or 0
  owing = (owing or 0) + 8 + (due > 0 and due <= now_ms and 4 or 0)
end
more = more and not paused
local asleep_before = {}
if more and sleep then
  -- A worker that has slept for longer should have taken it. These are removed: live ones register again at their next poll.
  local since = ARGV[4]
  if since == '' then since = redis.call('ZSCORE', IDLE, worker) end
  if since then asleep_before = redis.call('ZRANGEBYSCORE', IDLE, '0', '(' .. since, 'LIMIT', 0, MAX_ITEMS) end
end

local lapse, lapsed, strange = lapses(SESSIONS, '')
local place = 0
if #asleep_before > 0 then redis.call('ZREM', IDLE, unpack(asleep_before)) end
if sleep then
  redis.call('ZREM', IDLE, worker) -- comes first: it makes the other writes possible when the server is out of memory
  if not more then redis.call('ZADD', IDLE, whole(now_ms), worker) end
  if not more and not paused and next_ms >= 0 then place = keep_alarm(IDLE, wake, next_ms, worker) end
end
if place == 0 then next_ms = -1 end
repair_lapses(SESSIONS, strange)
return { whole(now_us), more and 1 or 0, state[1] and 1 or 0, whole(next_ms), place, state[2] or 0, whole(lapse), lapsed, limit and limit.state or owing and 0, owing }
