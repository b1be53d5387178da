-- reap.lua: return the jobs of a lapsed session to their queue, at most 500 a call, then end the session.
-- KEYS[1]  …:inflight:<session>  hash  job ID -> fence, "-" before it while not begun; #
-- KEYS[2]  …:sessions            zset  session -> instant it lapses, Unix ms
-- KEYS[3]  …:ready               list  IDs of jobs to run now
-- KEYS[4]  …:due                 zset  job ID -> instant it is due, Unix ms
-- KEYS[5]  …:crashes             hash  job ID -> times its holder vanished
-- KEYS[6]  …:open                hash  schedule -> "<occurrence>|<fence>|<worker>|<occurrence parked behind it>"
-- KEYS[7]  …:schedules           hash  schedule -> definition
-- KEYS[8]  …:cursors             hash  schedule -> cursor
-- KEYS[9]  …:idle                zset  sleeping worker -> instant it went to sleep
-- ARGV[1] session; ARGV[2] its lapse as seen before, Unix ms: extended since, it is left alone
-- ARGV[3] a random number: spreads the second crash of a job over 5 to 60 s
-- ARGV[4] prefix of the wake-up channels
-- Returns 1: nothing (more) to do. 0: call again, jobs remain.
local INFLIGHT, SESSIONS, READY, DUE, CRASHES, OPEN, SCHEDULES, CURSORS, IDLE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local seed, WAKE = tonumber(ARGV[3]), ARGV[4]
local STEP = 500
local front = {}
-- uses: clock wake alarm definition flight

local lapse = redis.call('ZSCORE', SESSIONS, ARGV[1])
if not lapse or tonumber(lapse) ~= tonumber(ARGV[2]) or tonumber(lapse) > now_ms then return 1 end

local all = redis.call('HGETALL', INFLIGHT)
local jobs, names, seen, begun = {}, {}, {}, {}
for i = 1, #all, 2 do
  if all[i] ~= '#' and #jobs < STEP then
    jobs[#jobs + 1] = { id = all[i], fence = all[i + 1] }
    if string.sub(all[i + 1], 1, 1) ~= '-' then begun[#begun + 1] = all[i] end
    local name = occurrence(all[i])
    if name and not seen[name] then
      seen[name] = true
      names[#names + 1] = name
    end
  end
end
table.sort(jobs, function(a, b) return tonumber(string.match(a.fence, '%d+')) < tonumber(string.match(b.fence, '%d+')) end)
local remain = #all / 2 - 1 - #jobs
local crashes = {}
if #begun > 0 then
  local counts = redis.call('HMGET', CRASHES, unpack(begun))
  for i, id in ipairs(begun) do crashes[id] = tonumber(counts[i] or 0) + 1 end
end
learn(names)
local head_due = tonumber(redis.call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2] or -1)

redis.call('ZREM', SESSIONS, '') -- lets the rest go on when the server is out of memory
redis.call('HSET', INFLIGHT, '#', 'reaped') -- from here on its own calls are refused, even if jobs remain
local soonest
for i, job in ipairs(jobs) do
  local times = crashes[job.id]
  if times then redis.call('HSET', CRASHES, job.id, times) end
  if times == 2 then
    -- a suspect: apart from the others that its worker held
    local at = now_ms + 5000 + (seed + i * 7919) % 55000
    redis.call('ZADD', DUE, whole(at), job.id)
    if not soonest or at < soonest then soonest = at end
  else
    front[#front + 1] = job.id
  end
  local name = occurrence(job.id)
  if name then landed(name, job.id, false) end
  redis.call('HDEL', INFLIGHT, job.id)
end
for i = #front, 1, -1 do redis.call('LPUSH', READY, front[i]) end
if #front > 0 then wake_one() end
if soonest and (head_due < 0 or soonest < head_due) then keep_alarm(soonest) end
if remain > 0 then return 0 end
redis.call('DEL', INFLIGHT)
redis.call('ZREM', SESSIONS, ARGV[1])
return 1
