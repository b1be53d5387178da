-- bury.lua: move parked jobs whose retention has passed to the dead jobs, at most 50, and put the jobs that follow their deaths at the front of
-- ready, or in the outbox. lib/expired.lua lists what holds. A job that has changed since the caller read it is skipped.
-- KEYS[1]  …:state      hash  fence, layout, paused, limit, parked, large, groups, grules, outbox, batches
-- KEYS[2]  …:jobs       hash  job ID -> envelope
-- KEYS[3]  …:dead       zset  job ID -> instant of its death, Unix ms
-- KEYS[4]  …:ready      list  IDs of jobs to run now
-- KEYS[5]  …:crashes    hash  job ID -> times its holder vanished
-- KEYS[6]  …:schedules  hash  schedule -> definition
-- KEYS[7]  …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[8]  …:idle       zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[9]  …:unhandled  zset  job name -> since when it has parked jobs, Unix ms
-- KEYS[10] …:last       hash  schedule -> its last outcome, see lib/history.lua; its manual runs, see lib/manual.lua
-- KEYS[11] …:history    hash  schedule -> its last attempts
-- KEYS[12] …:counters   hash
-- KEYS[13] …:line  zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[14] …:places  hash  job ID -> "<place> <group>"
-- KEYS[15] …:turns  zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[16] …:groups  hash  group -> its flights, tag and starts
-- KEYS[17] …:grules  hash  group -> its rule and pause
-- KEYS[18] …:opens  zset  group -> instant of its next start, Unix ms
-- KEYS[19] …:outbox  zset  jobs that wait to be carried to other partitions, see lib/outbox.lua
-- KEYS[20] …:outgoing  hash  "<queue>\t<job ID>" -> its value
-- KEYS[21] …:batches  hash  batch -> its counts, see lib/members.lua
-- KEYS[22] …:reports  zset  batch -> instant from which its counts are to be reported, Unix ms
-- KEYS[23...] …:parked:<name>  zset  job ID -> instant parked, Unix ms: the lists of the jobs
-- ARGV[1] retention of parked jobs, ms; ARGV[2] how many dead jobs are kept; ARGV[3] prefix of the wake-up channels
-- ARGV[4] prefix of the channels for callers that wait for a job of this queue; ARGV[5] how many lists
-- ARGV[6...] their names; seven values for each job: its entry in the list; which list that is; its envelope as the caller has read it, or, for
-- an occurrence without one, the definition of its schedule; its new envelope (empty: unchanged); the envelope of the job
-- that follows its death (empty: none), and how long after that it is due, ms; if it has a group, a tab and the group; its queue,
-- if that is another one, else empty; if it is a member of a batch, a tab and the batch
-- Returns time (us); how many jobs are dead now.
local STATE, JOBS, DEAD, READY, CRASHES, SCHEDULES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local DUE, IDLE, UNHANDLED, LAST, HISTORY, COUNTERS = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local LINE, PLACES = KEYS[13], KEYS[14]
local PARKED = 22 -- the lists come after KEYS[22]
local NAMES = 5 -- their names come after ARGV[5]
local n_lists = tonumber(ARGV[5])
-- uses: limits clock layout seconds strings counters definition envelope open flight due parked history manual manual_settle follower expired queuelimit waiting starts line groups tuned

local state = redis.call('HMGET', STATE, 'fence', 'layout', 'paused', 'limit', 'groups', 'grules', 'outbox', 'batches')
local refusal = newer(state[2])
if refusal then return refusal end
local jobs, ids = {}, {}
for at = NAMES + n_lists + 1, #ARGV, 7 do
  local list = tonumber(ARGV[at + 1])
  local job = { entry = ARGV[at], list = list, read = ARGV[at + 2], body = ARGV[at + 3], follows = ARGV[at + 4],
    in_ms = tonumber(match(ARGV[at + 5], '^%d+')), group = match(ARGV[at + 5], '\t(.*)$'),
    queue = match(ARGV[at + 6], '^[^\t]+'), batch = match(ARGV[at + 6], '\t(.*)$'), id = id_in(ARGV[NAMES + list], ARGV[at]) }
  jobs[#jobs + 1], ids[#ids + 1] = job, job.id
end
local before, bodies = redis.call('ZMSCORE', DEAD, unpack(ids)), redis.call('HMGET', JOBS, unpack(ids))
local dying, seen = {}, {}
for i, job in ipairs(jobs) do
  local name = not bodies[i] and occurrence(job.id)
  local text = bodies[i] or name and redis.call('HGET', SCHEDULES, name)
  local at = redis.call('ZSCORE', KEYS[PARKED + job.list], job.entry)
  if at and (tonumber(at) or 0) <= now_ms - tonumber(ARGV[1]) and text == job.read and not seen[job.id] then
    seen[job.id], dying[#dying + 1] = true, job
    if before[i] then job.body, job.follows = '', '' end -- it was parked and dead at once, and dies once
  end
end
if #dying == 0 then return { whole(now_us), 0 } end
local past = read_expired(LAST, ids)
redis.call('HLEN', HISTORY)
redis.call('HLEN', COUNTERS)
redis.call('HLEN', CRASHES)
redis.call('ZCARD', IDLE)
redis.call('ZCARD', UNHANDLED)
redis.call('ZCARD', DUE)
redis.call('LLEN', READY)
redis.call('ZCARD', KEYS[19])
redis.call('HLEN', KEYS[20])
local excess, oldest = redis.call('ZCARD', DEAD) + #dying - tonumber(ARGV[2]), {} -- the dead jobs that these replace
for _, id in ipairs(excess > 0 and redis.call('ZRANGE', DEAD, 0, math.min(excess, MAX_ITEMS) - 1) or {}) do
  if not seen[id] then oldest[#oldest + 1] = id end
end
local all, buried = nil, {} -- the groups; entries of the dying jobs in places
do
  local entries = {} -- of the groups that are read
  if state[5] then
    for i, entry in ipairs(redis.call('HMGET', PLACES, unpack(ids))) do
      buried[ids[i]] = entry or nil
      entries[#entries + 1] = entry or nil
    end
  end
  for _, job in ipairs(dying) do
    if job.group and job.follows ~= '' and not job.queue then entries[#entries + 1] = '0 ' .. job.group end
  end
  if state[5] or #entries > 0 then all = open_tuned(state[5], state[6], entries, LINE, PLACES, KEYS[15], KEYS[16], KEYS[17], KEYS[18]) end
end

-- each death draws a fence, as a take does
local fence = state[1] and #state[1] <= 16 and tonumber(state[1]) or 0
fence = math.max(now_us, fence < 9e15 and fence + 1 or 0)
local drawn = false
local front, due, envelopes, large, sent = {}, {}, {}, false, {}
local placed, lined = {}, {} -- of followers with groups: IDs and entries of places; members of line

-- add_here adds the job that follows a death to this partition. name, planned: of the schedule of the dead job; nil: it has none.
local function add_here(job, follower, name, planned)
  if name then begin_follower(past, follower, job.follows, name, planned) end
  envelopes[#envelopes + 1], envelopes[#envelopes + 2] = follower, job.follows
  if job.in_ms > 0 then due[#due + 1], due[#due + 2] = whole(math.ceil((now_us + job.in_ms * 1000) / 1000)), follower end
  if job.group then
    local entry = (job.in_ms > 0 and NO_PLACE or string.format('%016d', place_in_front(all))) .. ' ' .. job.group
    placed[#placed + 1], placed[#placed + 2] = follower, entry
    if job.in_ms == 0 then lined[#lined + 1], lined[#lined + 2] = '0', line_member(follower, entry) end
  elseif job.in_ms == 0 then
    front[#front + 1] = follower
  end
end

-- save_elsewhere adds the jobs that follow in other queues to the outbox.
local function save_elsewhere()
  -- uses: outbox
  save_sent(read_outbox(state[7]), sent, KEYS[19], KEYS[20], STATE)
end
local save_counts -- counts the members of batches that die, and those that follow them; nil: the partition has no batches
if state[8] then
  local function pieces()
    -- uses: members
    local counts, died = {}, {}
    check_members(KEYS[21], KEYS[22])
    for i, id in ipairs(ids) do
      if seen[id] and not before[i] then died[id] = bodies[i] end -- a job may come twice in a call
    end
    count_bodies(counts, died, 'dead')
    for _, job in ipairs(dying) do
      if job.follows ~= '' and job.batch then count_member(counts, job.batch, job.queue and 'away' or 'added', 1) end
    end
    return function() save_members(counts, KEYS[21], KEYS[22], STATE) end
  end
  save_counts = pieces()
end

redis.call('ZREM', DEAD, '', unpack(oldest)) -- the first write needs no memory
if #oldest > 0 then redis.call('HDEL', JOBS, unpack(oldest)) end
for _, job in ipairs(dying) do
  if job.body ~= '' then envelopes[#envelopes + 1], envelopes[#envelopes + 2] = job.id, job.body end
  if job.follows ~= '' then
    local schedule, planned = occurrence(job.id)
    local run = past.manual[job.id]
    local follower = follower_id(job.id, 'dead', whole(fence), schedule or run and run.name)
    if job.queue then
      sent[#sent + 1] = { id = follower, queue = job.queue, in_ms = job.in_ms, group = job.group, batch = job.batch, body = job.follows }
    else
      add_here(job, follower, schedule or run and run.name, planned or run and run.planned)
    end
    fence, drawn = fence + 1, true
  end
  large = large or #job.body > LARGE_BYTES or #job.follows > LARGE_BYTES
  give_up(past, job.id, job.read, job.entry, KEYS[PARKED + job.list], DEAD, CRASHES)
end
if #envelopes > 0 then redis.call('HSET', JOBS, unpack(envelopes)) end
if #sent > 0 then save_elsewhere() end
if save_counts then save_counts() end
if large then redis.call('HSETNX', STATE, 'large', '1') end
for l = 1, n_lists do save_list(KEYS[PARKED + l], ARGV[NAMES + l], UNHANDLED, STATE) end
save_expired(past, LAST, HISTORY, COUNTERS, ARGV[4])
if state[2] and state[2] ~= LAYOUT then redis.call('HSET', STATE, 'layout', LAYOUT) end
if all then
  for _, job in ipairs(dying) do unblock_job(all, job.id, buried[job.id]) end
  leave_line(PLACES, LINE, {}, oldest)
  if #placed > 0 then redis.call('HSET', PLACES, unpack(placed)) end
  if #lined > 0 then redis.call('ZADD', LINE, unpack(lined)) end
  tune_groups(all, STATE, LINE, PLACES, KEYS[15], KEYS[16], KEYS[18])
end
if not drawn and not (all and (all.opened or all.alarmed)) then return { whole(now_us), #dying } end
if drawn then redis.call('HSET', STATE, 'fence', whole(fence - 1)) end
if #due > 0 then redis.call('ZADD', DUE, unpack(due)) end
push_front(READY, front)
if not state[3] then
  -- uses: gate wake alarm
  local startable, next_ms = next_take(READY, DUE, KEYS[15], KEYS[18], state[5] or all and '', read_limit(state[4]), next_start)
  if startable then
    wake_one(IDLE, ARGV[3])
  elseif next_ms >= 0 then
    keep_alarm(IDLE, ARGV[3], next_ms)
  end
end
return { whole(now_us), #dying }
