-- reap.lua: return the jobs of a lapsed session to their queue, at most 500 a call (an occurrence counts twice); then end the session.
-- Model: REAP_BODY in models/session.pml.
-- KEYS[1]  …:inflight:<session>  hash  job ID -> fence, "-" before it while not begun, "!" if it was cancelled: then it ends, "+" if it was replaced; and the field of the piece session
-- KEYS[2]  …:sessions            zset  session -> instant it lapses, Unix ms
-- KEYS[3]  …:ready               list  IDs of jobs to run now
-- KEYS[4]  …:due                 zset  job ID -> instant it is due, Unix ms
-- KEYS[5]  …:crashes             hash  job ID -> how often its holder vanished, see lib/suspects.lua
-- KEYS[6]  …:open                hash  schedule -> see lib/open.lua
-- KEYS[7]  …:schedules           hash  schedule -> definition
-- KEYS[8]  …:cursors             hash  schedule -> cursor
-- KEYS[9]  …:idle                zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[10] …:state               hash  layout, crashed, paused, limit, asked, groups, grules, batches
-- KEYS[11] …:behind              zset  "<schedule>\t<planned instant>" -> 0: occurrences behind the one in open
-- KEYS[12] …:owed                zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[13] …:jobs                hash  job ID -> envelope
-- KEYS[14] …:counters            hash
-- KEYS[15] …:runs                stream  past runs
-- KEYS[16] …:callers             zset  sessions that have ended, see lib/closed.lua; "measured <session>", see measure.lua
-- KEYS[17] …:progress            hash  job ID -> its progress
-- KEYS[18] …:last                hash  schedule -> its last outcome, see lib/history.lua; its manual runs, see lib/manual.lua
-- KEYS[19] …:history             hash  schedule -> its last attempts
-- KEYS[20] …:after               hash  job ID -> what follows its flight, see lib/after.lua
-- KEYS[21] …:line                zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[22] …:places              hash  job ID -> "<place> <group>"
-- KEYS[23] …:turns               zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[24] …:groups              hash  group -> its flights, tag and starts
-- KEYS[25] …:grules              hash  group -> its rule and pause
-- KEYS[26] …:opens               zset  group -> instant of its next start, Unix ms
-- KEYS[27] …:batches             hash  batch -> its counts, see lib/members.lua
-- KEYS[28] …:reports             zset  batch -> instant from which its counts are to be reported, Unix ms
-- ARGV[1] session; ARGV[2] its lapse as the caller read it, Unix ms: if it was extended since, nothing is done
-- ARGV[3] a random number; a job whose holder vanished a second time is due again 5 to 60 s later, at random
-- ARGV[4] prefix of the wake-up channels; ARGV[5] the queue: callers that wait for the end of a cancelled job are notified
-- Returns whether nothing is left to do (1; 0: jobs remain, call again); how many jobs this call has returned, or ended; how many entries it has
-- removed that were neither flights nor jobs.
local INFLIGHT, SESSIONS, READY, DUE, CRASHES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local OPEN, SCHEDULES, CURSORS, IDLE, STATE = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local BEHIND, OWED, JOBS, COUNTERS, RUNS, CALLERS, PROGRESS, AFTER = KEYS[11], KEYS[12], KEYS[13], KEYS[14], KEYS[15], KEYS[16], KEYS[17], KEYS[20]
local seed, wake = tonumber(ARGV[3]), ARGV[4]
local front = {}
-- uses: limits callers clock layout seconds closed gate wake alarm strings counters definition owed open flight asked due session suspects queuelimit waiting after envelope history manual

local state = redis.call('HMGET', STATE, 'paused', 'limit', 'asked', 'layout', 'groups', 'grules', 'batches')
local refusal = newer(state[4])
if refusal then return refusal end
local lapse = redis.call('ZSCORE', SESSIONS, ARGV[1])
if not lapse or tonumber(lapse) ~= tonumber(ARGV[2]) or tonumber(lapse) > now_ms then return { 1, 0, 0 } end

-- The jobs, sorted by fence: in the order in which they were taken. No two jobs have the same fence; a worker did not write an entry without a
-- fence, or with another job's fence.
local held, left = redis.call('HLEN', INFLIGHT) - redis.call('HEXISTS', INFLIGHT, SELF), MAX_ITEMS
local all
if held <= 8 * MAX_ITEMS then
  all = redis.call('HGETALL', INFLIGHT)
else
  all = redis.call('HRANDFIELD', INFLIGHT, MAX_ITEMS + 1, 'WITHVALUES') -- reading them all in each call would take too long
end
local fences, id_of, begun, unbegun, names, strange, cancelled, n_cancelled = {}, {}, {}, {}, {}, {}, {}, 0
-- the fences of the first and the last job that had begun, also of those that an earlier call has returned
local self
for i = 1, #all, 2 do
  if all[i] == SELF then self = all[i + 1] end
end
local first_begun, last_begun = string.match(self or '', '^reaped (%d+) (%d+)$')
first_begun, last_begun = tonumber(first_begun) or math.huge, tonumber(last_begun) or 0
-- it is not known which have begun; or jobs of other partitions have begun in the worker, see lib/session.lua
if held > 8 * MAX_ITEMS or string.find(self or '', '^%d+ %d+ %d+ %S* %d+ %S+ %+') then first_begun, last_begun = 0, 9e15 end
local replaced, follows = {}, {} -- IDs; ID -> instant and envelope of what follows
for i = 1, #all, 2 do
  local id = all[i]
  local started = id ~= SELF and tonumber(string.match(all[i + 1], '^[!%+]?(%d+)$') or '')
  if started and started < 9e15 then first_begun, last_begun = math.min(first_begun, started), math.max(last_begun, started) end
  if left > 0 and id ~= SELF then
    local sign, digits = string.match(all[i + 1], '^([%-!%+]?)(%d+)$')
    local fence = digits and #digits <= 16 and tonumber(digits)
    if not fence or id_of[fence] then
      strange[#strange + 1] = id
    else
      if sign == '' then begun[#begun + 1] = id end
      if sign == '-' then unbegun[#unbegun + 1] = id end
      if sign == '+' then replaced[#replaced + 1] = id end
      if sign == '!' then cancelled[id], n_cancelled = true, n_cancelled + 1 end
      fences[#fences + 1], id_of[fence] = fence, id
    end
    local name = occurrence(id)
    left = left - 1
    if name then
      left = left - 1
      names[#names + 1] = name
    end
  end
end
table.sort(fences)
-- A crash counts for each job that had begun. For a suspect it is uncertain if another job had begun beside it. That job began later; or it began
-- before the suspect, and the worker still lived when it began to take other jobs again.
local crashes, entries = {}, {} -- job ID -> how often its holder has vanished, without the uncertain times; its entry
if #begun > 0 then
  local fence_of = {}
  for fence, id in pairs(id_of) do fence_of[id] = fence end
  -- it was extended for the last time then
  local alive_us = (tonumber(lapse) - tonumber(string.match(ARGV[1], '~(%d+)$') or 12000)) * 1000
  for i, text in ipairs(redis.call('HMGET', CRASHES, unpack(begun))) do
    local id = begun[i]
    local n, uncertain = crashes_in(text or '0')
    n, uncertain = n or 0, uncertain or 0
    local beside = last_begun > fence_of[id] or first_begun < fence_of[id] and alive_us > fence_of[id] + WATCH_US
    if n < SUSPECT_CRASHES or not beside then
      n = n + 1
    elseif n + uncertain + 1 < MAX_CRASHES then
      uncertain = uncertain + 1
    else
      n, uncertain = n + uncertain + 1, 0
    end
    crashes[id] = n
    entries[id] = uncertain > 0 and whole(n) .. '.' .. whole(uncertain) or whole(n)
  end
end
for i, text in ipairs(#unbegun > 0 and redis.call('HMGET', CRASHES, unpack(unbegun)) or {}) do
  if (crashes_in(text or '0') or 0) == 0 then entries[unbegun[i]] = 'v' end
end
for i, text in ipairs(#replaced > 0 and redis.call('HMGET', AFTER, unpack(replaced)) or {}) do
  local due_ms, body, group = after_of(text)
  if body then follows[replaced[i]] = { due_ms = due_ms, body = body, group = group } end
end
local dropped = {}
local ids = {}
if #strange > 0 then
  for i, body in ipairs(redis.call('HMGET', JOBS, unpack(strange))) do
    local list = (body or occurrence(strange[i])) and ids or dropped
    list[#list + 1] = strange[i]
  end
end
for _, fence in ipairs(fences) do ids[#ids + 1] = id_of[fence] end
local flights = read_flights(OPEN, BEHIND, SCHEDULES, CURSORS, names, {})
local past = read_past(KEYS[18], names)
local touched = { unpack(replaced) } -- IDs of jobs that end, or start again, or whose attempt was cut off
for id in pairs(cancelled) do touched[#touched + 1] = id end
for _, id in ipairs(begun) do touched[#touched + 1] = id end
read_manual(past, KEYS[18], touched)
local attempts = {} -- job ID -> number and fence of the attempt that its worker took with it; only of jobs in the history of schedules
local worker = '' -- the holder; empty: there is no such attempt, or the name is not known
if #begun > 0 then
  local recorded, fence_of = {}, {}
  for fence, id in pairs(id_of) do fence_of[id] = fence end
  for _, id in ipairs(begun) do
    if occurrence(id) or past.manual[id] then recorded[#recorded + 1] = id end
  end
  if #recorded > 0 then worker = string.match(redis.call('HGET', INFLIGHT, SELF) or '', '^%d+ %d+ %d+ %S* %d+ (%S+) ') or '' end
  for i, body in ipairs(#recorded > 0 and redis.call('HMGET', JOBS, unpack(recorded)) or {}) do
    attempts[recorded[i]] = { number = failures_in(body) + 1, fence = fence_of[recorded[i]] }
  end
end
local owes = #names > 0 and redis.call('ZMSCORE', OWED, unpack(names)) or {}
local first_due = due_head(DUE)
-- the types are checked before the first write
redis.call('LLEN', READY)
redis.call('HLEN', JOBS)
redis.call('HLEN', COUNTERS)
redis.call('XLEN', RUNS)
redis.call('ZCARD', IDLE)
redis.call('ZCARD', CALLERS)
redis.call('HLEN', CRASHES)
redis.call('HLEN', AFTER)
redis.call('HLEN', KEYS[19])
local reports = redis.call('HLEN', PROGRESS) > 0
local paused, limit = state[1], read_limit(state[2])
local grouped -- the functions for jobs that have groups; nil: none
if state[5] or #replaced > 0 then
  local function pieces() -- a function has locals of its own: here they would be too many
    -- uses: starts line groups
    local all, names_read, ended = open_groups(state[5], state[6]), {}, {}
    local place_of, group_of, lined, placed, unplaced = {}, {}, {}, {}, {} -- of the jobs; what joins line; IDs and new entries of places; IDs that leave it
    for _, list in ipairs({ ids, dropped }) do
      for _, id in ipairs(list) do ended[#ended + 1] = id end
    end
    for i, entry in ipairs(#ended > 0 and redis.call('HMGET', KEYS[22], unpack(ended)) or {}) do
      if entry then
        place_of[ended[i]], group_of[ended[i]] = string.match(entry, '^(%d+) (.+)$')
        names_read[#names_read + 1] = group_of[ended[i]]
      end
    end
    for _, next_one in pairs(follows) do names_read[#names_read + 1] = next_one.group end
    read_groups(all, names_read, KEYS[23], KEYS[24], KEYS[25])
    check_groups(KEYS[21], KEYS[22], KEYS[23], KEYS[24], KEYS[26])
    return {
      -- ends records that the flight of a job has ended; finally: the job has ended too; behind: it is an occurrence that waits behind another one
      ends = function(id, finally, behind)
        local g = group_of[id] and all.of[group_of[id]]
        if not g then return end
        end_flights(g, 1)
        if behind then unblock(g, id) end
        if finally then
          unblock(g, id)
          unplaced[#unplaced + 1] = id
        end
      end,
      -- returns_to returns whether a job has a group, and then returns it to its place in line
      returns_to = function(id)
        if group_of[id] then lined[#lined + 1], lined[#lined + 2] = '0', group_of[id] .. '\t' .. place_of[id] .. '\t' .. id end
        return group_of[id] and true or false
      end,
      -- follows records what follows a job: it has a group
      follows = function(id, group, now)
        local entry, member = enter_line(all, group, id)
        if now then lined[#lined + 1], lined[#lined + 2] = '0', member else entry = NO_PLACE .. ' ' .. group end
        placed[#placed + 1], placed[#placed + 2] = id, entry
      end,
      save = function()
        leave_line(KEYS[22], KEYS[21], {}, unplaced)
        if #placed > 0 then redis.call('HSET', KEYS[22], unpack(placed)) end
        if #lined > 0 then redis.call('ZADD', KEYS[21], unpack(lined)) end
        tune_groups(all, STATE, KEYS[21], KEYS[22], KEYS[23], KEYS[24], KEYS[26])
        return all.alarmed
      end,
    }
  end
  grouped = pieces()
end
local save_counts -- counts the members of batches that were cancelled; nil: there are none
if state[7] and n_cancelled > 0 then
  local function pieces()
    -- uses: members
    local counts, those = {}, {}
    check_members(KEYS[27], KEYS[28])
    for id in pairs(cancelled) do those[#those + 1] = id end
    count_bodies(counts, redis.call('HMGET', JOBS, unpack(those)), 'cancelled')
    return function() save_members(counts, KEYS[27], KEYS[28], STATE) end
  end
  save_counts = pieces()
end

-- decide: a job that had begun has crashed once more; after its second crash, and after an uncertain one, it waits; after another it goes to the
-- front of ready
local soonest
local back = {} -- jobs that follow replaced ones, and are due
local crashed, suspects, ended = {}, {}, {} -- ended: cancelled or superseded
for i, id in ipairs(ids) do
  local times = crashes[id]
  local name, planned = occurrence(id)
  local fate = name and end_flight(flights, front, name, id, cancelled[id] and 'final' or times == 2 and 'later' or 'front')
  if cancelled[id] then fate = 'cancelled' end
  if entries[id] or fate == 'behind' then
    crashed[#crashed + 1] = id
    crashed[#crashed + 1] = entries[id] or '0' -- it has begun, because a job without a mark that waits behind is new
  end
  if fate == 'superseded' or fate == 'cancelled' then
    local _, created = policy(name and redis.call('HGET', SCHEDULES, name))
    local own = name and add_unfinished(past, name, planned, 0)
    local removed = not own and (not created or created_later(created, planned)) -- then another schedule of that name gets nothing of it
    ended[#ended + 1] = { id = id, name = name, planned = planned, how = fate, counts = not removed }
  elseif follows[id] and follows[id].due_ms > now_ms then
    if follows[id].group then grouped.follows(id, follows[id].group, false) end
    suspects[#suspects + 1] = whole(follows[id].due_ms)
    suspects[#suspects + 1] = id
    soonest = math.min(soonest or follows[id].due_ms, follows[id].due_ms)
  elseif follows[id] and follows[id].group then
    grouped.follows(id, follows[id].group, true)
  elseif follows[id] then
    back[#back + 1] = id
  elseif times == 2 then
    -- not at the same time as the other jobs of its worker: one of them may make workers crash
    local at = now_ms + 5000 + (seed + i * 7919) % 55000
    suspects[#suspects + 1] = whole(at)
    suspects[#suspects + 1] = id
    if not soonest or at < soonest then soonest = at end
  elseif fate ~= 'behind' and not (grouped and grouped.returns_to(id)) then
    front[#front + 1] = id
  end
  if grouped then grouped.ends(id, cancelled[id] or follows[id] or fate == 'superseded', fate == 'behind') end
end
for _, id in ipairs(grouped and dropped or {}) do grouped.ends(id, true) end

redis.call('ZREM', SESSIONS, '') -- makes the other writes possible when the server is out of memory
-- from here on its own calls are refused, even if jobs remain
redis.call('HSET', INFLIGHT, SELF, last_begun > 0 and 'reaped ' .. whole(first_begun) .. ' ' .. whole(last_begun) or 'reaped')
if state[4] and state[4] ~= LAYOUT then redis.call('HSET', STATE, 'layout', LAYOUT) end
if #crashed > 0 then
  redis.call('HSET', STATE, 'crashed', '1') -- takes read …:crashes only then
  redis.call('HSET', CRASHES, unpack(crashed))
end
for id, next_one in pairs(follows) do
  redis.call('HSET', JOBS, id, next_one.body)
  redis.call('HDEL', CRASHES, id)
  if #next_one.body > LARGE_BYTES then redis.call('HSETNX', STATE, 'large', '1') end
end
if #replaced > 0 then redis.call('HDEL', AFTER, unpack(replaced)) end
if #suspects > 0 then redis.call('ZADD', DUE, unpack(suspects)) end
save_flights(flights, OPEN, BEHIND)
for i, name in ipairs(names) do
  -- a schedule that catches up: a ticker places the next run, because this flight has ended
  if flights.freed[name] and owes[i] then redis.call('ZADD', OWED, whole(owed_since(owes[i])), name) end
end
for _, id in ipairs(ids) do
  local cut = attempts[id]
  if cut then
    local name, planned = occurrence(id)
    local run = table.concat({ 'crashed', whole(math.floor(cut.fence / 1000)), whole(now_ms), whole(cut.number), whole(cut.fence), worker,
      'its worker vanished\t' }, '|')
    if name then add_run(past, name, planned, run) else run_manual(past, id, run) end
  end
end
for _, job in ipairs(ended) do
  redis.call('HDEL', JOBS, job.id)
  redis.call('HDEL', CRASHES, job.id)
  if job.counts then redis.call('HINCRBY', COUNTERS, job.name .. (job.how == 'cancelled' and CANCELLED or SUPERSEDED), 1) end
  if job.how == 'cancelled' then
    redis.call('HINCRBY', COUNTERS, CANCELLED, 1)
    redis.call('PUBLISH', wake .. 'ended:' .. ARGV[5] .. '\t' .. job.id, 'e')
  end
  if job.name then
    redis.call('XADD', RUNS, 'MAXLEN', '~', '10000', '*', 'schedule', job.name, 'planned', job.planned,
      'started', whole(now_ms), 'ended', whole(now_ms), 'outcome', job.how)
    add_unfinished(past, job.name, job.planned, -1)
    add_run(past, job.name, job.planned, job.how .. '|' .. whole(now_ms) .. '|' .. whole(now_ms))
  else
    run_manual(past, job.id, 'cancelled|' .. whole(now_ms) .. '|' .. whole(now_ms))
    end_manual(past, job.id)
  end
end
for _, id in ipairs(replaced) do end_manual(past, id) end
save_manual(past, KEYS[18])
save_past(past, KEYS[18], KEYS[19])
if n_cancelled > 0 then add_asked(STATE, state[3], -n_cancelled) end
if save_counts then save_counts() end
if #ids > 0 then redis.call('HDEL', INFLIGHT, unpack(ids)) end
if #ids > 0 and reports then redis.call('HDEL', PROGRESS, unpack(ids)) end
push_front(READY, front)
if #back > 0 then redis.call('RPUSH', READY, unpack(back)) end
if #dropped > 0 then redis.call('HDEL', INFLIGHT, unpack(dropped)) end
if grouped then grouped.alarmed = grouped.save() end
if limit then
  count_flights(limit, redis.call('HLEN', INFLIGHT) - 1 - held, 0, 0)
  redis.call('HSET', STATE, 'limit', limit_text(limit))
  local startable, next_ms = next_take(READY, DUE, KEYS[23], KEYS[26], state[5], limit, next_start)
  if startable and not paused then
    wake_one(IDLE, wake)
  elseif next_ms >= 0 and not paused then
    keep_alarm(IDLE, wake, next_ms)
  end
else
  if #front + #back > 0 or grouped and not paused and is_waiting(READY, KEYS[23], grouped) then wake_one(IDLE, wake) end
  if grouped and grouped.alarmed and not paused then
    local next_ms = head_due(DUE, KEYS[26], grouped)
    if next_ms >= 0 then keep_alarm(IDLE, wake, next_ms) end
  elseif soonest and (first_due < 0 or soonest < first_due) then keep_alarm(IDLE, wake, soonest) end
end
if held > #ids + #dropped then return { 0, #ids, #dropped } end
redis.call('DEL', INFLIGHT)
redis.call('ZREM', SESSIONS, ARGV[1])
remember_closed(CALLERS, ARGV[1])
redis.call('ZREM', CALLERS, 'measured ' .. ARGV[1])
return { 1, #ids, #dropped }
