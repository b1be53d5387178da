-- discard.lua: cancel or delete jobs, at most 500.
-- Model: CANCEL_BODY in models/stale.pml.
-- KEYS[1]  …:state      hash    layout, stale, asked, parked, purge, paused, groups, grules, batches
-- KEYS[2]  …:sessions   zset    session -> instant it lapses, Unix ms
-- KEYS[3]  …:jobs       hash    job ID -> envelope
-- KEYS[4]  …:due        zset    job ID -> instant it is due, Unix ms
-- KEYS[5]  …:ready      list    IDs of jobs to run now
-- KEYS[6]  …:dead       zset    job ID -> instant of its death, Unix ms
-- KEYS[7]  …:crashes    hash    job ID -> times its holder vanished
-- KEYS[8]  …:open       hash    schedule -> see lib/open.lua
-- KEYS[9]  …:behind     zset    "<schedule>\t<planned instant>" -> 0: occurrences behind the one in open
-- KEYS[10] …:schedules  hash    schedule -> definition
-- KEYS[11] …:cursors    hash    schedule -> cursor
-- KEYS[12] …:owed       zset    schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[13] …:counters   hash
-- KEYS[14] …:runs       stream  past runs
-- KEYS[15] …:callers    zset    completed calls, see lib/closed.lua
-- KEYS[16] …:idle       zset    sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[17] …:unhandled  zset    job name -> since when it has parked jobs, Unix ms
-- KEYS[18] …:stale      zset    IDs in ready that are void -> since when, Unix ms; see lib/stale.lua
-- KEYS[19] …:results    hash    job ID -> its result
-- KEYS[20] …:kept       zset    job ID -> until when its result is kept, Unix ms
-- KEYS[21] …:last       hash    schedule -> its last outcome, see lib/history.lua; its manual runs, see lib/manual.lua
-- KEYS[22] …:history    hash    schedule -> its last attempts
-- KEYS[23] …:once       zset    job ID -> until when it is not added again, Unix ms
-- KEYS[24] …:after      hash    job ID -> what follows its flight, see lib/after.lua
-- KEYS[25] …:line       zset    "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[26] …:places     hash    job ID -> "<place> <group>"
-- KEYS[27] …:turns  zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[28] …:groups  hash  group -> its flights, tag and starts
-- KEYS[29] …:grules  hash  group -> its rule and pause
-- KEYS[30] …:opens  zset  group -> instant of its next start, Unix ms
-- KEYS[31] …:batches    hash    batch -> its counts, see lib/members.lua
-- KEYS[32] …:reports    zset    batch -> instant from which its counts are to be reported, Unix ms
-- KEYS[33...] …:inflight:<session>  hash  job ID -> fence: of every session
-- KEYS[34...] …:parked:<name>       zset  job ID -> instant parked, Unix ms: every list, the shared one last
-- ARGV[1] cancel or delete; ARGV[2] a unique name of this call; ARGV[3] prefix of the wake-up channels
-- ARGV[4] how many sessions; ARGV[5] how many lists of parked jobs; ARGV[6] how many jobs
-- ARGV[7] the field parked of state before the shared list was searched for these jobs; empty: there is no such list
-- ARGV[8...] the sessions; the names of the lists; two values for each job: its ID, its member in the shared list (empty: unknown); then, if one
--          job is cancelled with a result to keep: how long in ms, its queue, the result
-- Returns time (us); 1 (0: nothing was done, because a session or a list is not in KEYS, or more was parked; 2: nothing was done,
-- because a purge has not ended, see purge_begin.lua); how many jobs ended; a letter for each job,
-- none if the same call was completed before:
--   e it has ended (delete: or it had ended before, and its ID can be enqueued with Once again)
--   a it is in flight and its holder was notified: cancel   r it is in flight: delete   d it is dead: cancel
--   u it is an occurrence that was not taken yet: delete    l it did not fit into the call, and must be sent again
--   n it does not exist, or its ID came before in the call

-- Where is a job? It is searched for in flight, among the dead, behind another occurrence, in due, among the parked, in line. If it is in none of these
-- and has an envelope, its ID is in ready, the only place without a fast lookup. An occurrence that was given back without an envelope is there
-- if its schedule is held for it, or else near the front.
local STATE, SESSIONS, JOBS, DUE, READY, DEAD, CRASHES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local OPEN, BEHIND, SCHEDULES, CURSORS, OWED, COUNTERS = KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13]
local RUNS, CALLERS, IDLE, UNHANDLED, STALE = KEYS[14], KEYS[15], KEYS[16], KEYS[17], KEYS[18]
local RESULTS, KEPT = KEYS[19], KEYS[20]
local LAST = KEYS[21]
local ONCE, AFTER = KEYS[23], KEYS[24]
local INFLIGHT = 32 -- the hashes of the sessions come after KEYS[32]
local DEPTH = 10000 -- how deep ready is searched for an occurrence without an envelope
local SEARCHES = 20 -- searches in a call
local TOGETHER = 4 -- occurrences of one schedule that a call ends: the number of known ones in behind
local cancels, wake, n_sessions, n_lists, n = ARGV[1] == 'cancel', ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local PARKED = INFLIGHT + n_sessions -- the lists come after the hashes
local at_list = 7 + n_sessions
local at_job = at_list + n_lists
-- uses: limits callers clock layout seconds strings counters definition owed open flight void asked parked session closed gate wake history manual later forget over line

local state = redis.call('HMGET', STATE, 'layout', 'asked', 'parked', 'purge', 'groups', 'grules', 'paused', 'batches')
local refusal = newer(state[1])
if refusal then return refusal end
local before = answered(CALLERS, ARGV[2])
if before then return { whole(now_us), 1, before, '' } end
if state[4] then return { whole(now_us), 2, 0, '' } end

---------------------------------------------------------------------------------------------------------------- read

if ARGV[7] ~= '' and ARGV[7] ~= state[3] then return { whole(now_us), 0, 0, '' } end
local known = {}
for i = 8, at_job do known[ARGV[i]] = true end
for _, session in ipairs(redis.call('ZRANGE', SESSIONS, 0, -1)) do
  if not known[session] then return { whole(now_us), 0, 0, '' } end
end
for _, list in ipairs(redis.call('ZRANGE', UNHANDLED, 0, -1)) do
  if not known[list] then return { whole(now_us), 0, 0, '' } end
end

local ids, name_of, planned_of, names, needed, count_of = {}, {}, {}, {}, {}, {}
for i = 1, n do
  local id = ARGV[at_job + 2 * i - 1]
  ids[i] = id
  local name, planned = occurrence(id)
  if name then
    name_of[i], planned_of[i] = name, planned
    if not needed[name] then names[#names + 1], needed[name] = name, true end
  end
end
local held, holder = {}, {} -- of a job in flight: its value in its session; which session that is
for s = 1, n_sessions do
  for i, fence in ipairs(redis.call('HMGET', KEYS[INFLIGHT + s], unpack(ids))) do
    if fence then held[i], holder[i] = fence, s end
  end
end
local workers = {} -- of these sessions
for _, s in pairs(holder) do
  workers[s] = workers[s] or match(redis.call('HGET', KEYS[INFLIGHT + s], SELF) or '', '^%d+ %d+ %d+ %S* %d+ (%S+) ') or ''
end
local list_of, member_of = {}, {} -- of a parked job
for l = 1, n_lists do
  local members, shared = ids, ARGV[at_list + l] == SHARED
  if shared then
    members = {}
    for i = 1, n do members[i] = ARGV[at_job + 2 * i] end
  end
  for i, since in ipairs(redis.call('ZMSCORE', KEYS[PARKED + l], unpack(members))) do
    if since and (not shared or members[i] ~= '') then list_of[i], member_of[i] = l, members[i] end
  end
end
local dead, due = redis.call('ZMSCORE', DEAD, unpack(ids)), redis.call('ZMSCORE', DUE, unpack(ids))
local bodies, crashes = redis.call('HMGET', JOBS, unpack(ids)), redis.call('HMGET', CRASHES, unpack(ids))
local void = redis.call('ZMSCORE', STALE, unpack(ids))
local grouped = find_grouped(state[5], KEYS[26], KEYS[25], ids)
if state[5] then
  local function pieces()
    -- uses: queuelimit starts groups tuned
    local all = open_tuned(state[5], state[6], grouped.entries, KEYS[25], KEYS[26], KEYS[27], KEYS[28], KEYS[29], KEYS[30])
    -- tune writes what changes for the groups of the jobs, and returns whether one of them may start a job, now or at an instant that is new
    return function(ended)
      for _, i in ipairs(ended) do unblock_job(all, ids[i], grouped.entries[i]) end
      tune_groups(all, STATE, KEYS[25], KEYS[26], KEYS[27], KEYS[28], KEYS[30])
      return all.opened or all.alarmed
    end
  end
  grouped.tune = pieces()
end
local flights, front = read_flights(OPEN, BEHIND, SCHEDULES, CURSORS, names, needed), {}
local past = read_past(LAST, names)
read_manual(past, LAST, ids)
local owes = #names > 0 and redis.call('ZMSCORE', OWED, unpack(names)) or {}
redis.call('LLEN', READY)
redis.call('HLEN', COUNTERS)
redis.call('XLEN', RUNS)
redis.call('HLEN', RESULTS)
redis.call('HLEN', KEYS[22])
local over = over_in(KEPT, 1)
redis.call('ZCARD', IDLE)
local barred = cancels and {} or redis.call('ZMSCORE', ONCE, unpack(ids))
redis.call('HLEN', AFTER)

------------------------------------------------------------------------------------------------- decide: what each becomes

local answer, removed, marks, running = {}, {}, {}, {}
local given = {} -- IDs: one that comes again counts once
for i, id in ipairs(ids) do
  if given[id] then answer[i] = 'n' end
  given[id] = true
end
local out = { due = {}, dead = {}, ready = {}, parked = {}, line = {}, void = {} } -- the places that ended jobs leave; void: what goes to due
local ended = {} -- positions of ended jobs
local searches = 0
local lifted = {} -- IDs of jobs that have ended, which …:once bars
local was_taken = {} -- of ended jobs: whether it was taken, or is dead and has ended before

-- finish records that the i-th job ends.
local function finish(i)
  answer[i] = 'e'
  ended[#ended + 1] = i
  removed[#removed + 1] = ids[i]
end

-- void_now records that the ID is void in ready, and whether its job was cancelled or deleted.
local function void_now(id)
  out.ready[#out.ready + 1], out.ready[#out.ready + 2] = whole(now_ms) .. (cancels and '' or '.5'), id
end

-- stands reports whether the i-th job, an occurrence in due or in line that was not taken, must be in due until its instant: the
-- take that drops it then owes the next one. It is at the cursor, or after a lost one.
local function stands(i)
  local at, _, kind = cursor(flights.cursors[name_of[i]])
  return flights.definitions[name_of[i]] and at and (is_placed(kind) and at == planned_of[i] or kind == 's' and planned_of[i] > at)
end

-- in_ready reports whether the i-th job, which is in no other place, is in ready; nil: this call has searched often enough.
local function in_ready(i)
  local name, id, fence = name_of[i], nil, nil
  if void[i] then return false end
  if bodies[i] then return true end
  if not name then return false end
  local _, created = policy(flights.definitions[name])
  if is_dropped(flights.definitions[name], created, planned_of[i]) then return false end
  id, fence = opened(flights.opens[name])
  if id == ids[i] and fence == '0' then return true end
  searches = searches + 1
  if searches > SEARCHES then return nil end
  return redis.call('LPOS', READY, ids[i], 'MAXLEN', DEPTH) and true or false
end

-- Jobs behind another one come first: what is released below continues with the oldest of those that remain behind.
for i = 1, n do
  local name = name_of[i]
  if name and not answer[i] then
    count_of[name] = (count_of[name] or 0) + 1
    local instant = waits_behind(BEHIND, name, planned_of[i])
    if count_of[name] > TOGETHER then
      answer[i] = 'l'
    elseif not held[i] and instant then
      finish(i)
      flights.left[#flights.left + 1] = name .. '\t' .. instant
      for k, planned in ipairs(flights.behind[name] or {}) do
        if planned == instant then
          table.remove(flights.behind[name], k)
          break
        end
      end
      local id, fence, worker, session, letter, fresh = opened(flights.opens[name])
      was_taken[i] = not (id and fresh == planned_of[i])
      if id and fresh == planned_of[i] then set_open(flights, name, opening(id, fence, worker, session, letter, '')) end
    end
  end
end
for i = 1, n do
  local id, name = ids[i], name_of[i]
  local sign, fence = match(held[i] or '', '^([%-!%+]?)(%d+)$')
  local marked = bodies[i] and is_mark_of_void(bodies[i])
  if answer[i] then
  elseif held[i] and not cancels then
    answer[i] = 'r'
  elseif held[i] then
    answer[i] = 'a'
    if fence then
      running[#running + 1] = { at = holder[i], id = id, fence = fence, first = sign ~= '!' }
    else
      running[#running + 1] = { at = holder[i], id = id, fence = '0', first = true } -- edited by hand: no settlement counts, and reaping ends it
    end
  elseif dead[i] then
    answer[i] = 'd'
    if not cancels then
      finish(i)
      out.dead[#out.dead + 1] = id
    end
  elseif due[i] and marked then
    local _, created = policy(flights.definitions[name])
    answer[i] = cancels and created and voids(bodies[i], created) and 'e' or 'n'
  elseif due[i] and name and not bodies[i] and not crashes[i] and not cancels then
    answer[i] = 'u'
  elseif due[i] and name and not bodies[i] and not crashes[i] and stands(i) then
    answer[i] = 'e'
    ended[#ended + 1] = i
    local _, created = policy(flights.definitions[name])
    marks[#marks + 1], marks[#marks + 2] = id, void_mark(created)
  elseif due[i] then
    finish(i)
    was_taken[i] = bodies[i] or crashes[i]
    out.due[#out.due + 1] = id
    if void[i] then void_now(id) end -- its place in ready is that of an earlier job: what it shows about this one follows
  elseif list_of[i] then
    finish(i)
    was_taken[i] = true
    local list = out.parked[list_of[i]] or {}
    out.parked[list_of[i]] = list
    list[#list + 1] = member_of[i]
  elseif grouped.members[i] and name and not bodies[i] and not crashes[i] and not cancels then
    answer[i] = 'u'
  elseif grouped.members[i] and name and not bodies[i] and not crashes[i] and stands(i) then
    answer[i] = 'e'
    ended[#ended + 1] = i
    local _, created = policy(flights.definitions[name])
    marks[#marks + 1], marks[#marks + 2] = id, void_mark(created)
    out.line[#out.line + 1] = grouped.members[i]
    out.void[#out.void + 1], out.void[#out.void + 2] = whole(now_ms), id -- it owes the next one without a turn
  elseif grouped.members[i] then
    local open_id, _, _, _, _, fresh = opened(name and flights.opens[name])
    finish(i)
    was_taken[i] = name and (bodies[i] or crashes[i]) and not (open_id == id and fresh == planned_of[i])
    out.line[#out.line + 1] = grouped.members[i]
  else
    local there = in_ready(i)
    if there then
      local open_id, _, _, _, _, fresh = opened(name and flights.opens[name])
      finish(i)
      was_taken[i] = not (open_id == id and fresh == planned_of[i])
      void_now(id)
    elseif there == nil then
      answer[i] = 'l'
    else
      answer[i] = void[i] and cancels and tonumber(void[i]) % 1 == 0 and 'e' or 'n' -- e: it was cancelled before, not deleted
      -- A deletion removes the record of a job that has ended. A cancellation does not: if it came late, and an enqueue call was repeated, the job
      -- would run twice.
      if barred[i] and tonumber(barred[i]) > now_ms and not name then answer[i], lifted[#lifted + 1] = 'e', id end
    end
  end
  if name and answer[i] == 'e' then end_flight(flights, front, name, id, 'final') end
end

local save_counts -- counts the members of batches that end; nil: the partition has no batches
if state[8] then
  local function pieces()
    -- uses: members
    local counts, gone, revoked = {}, {}, {} -- revoked: those that were dead
    check_members(KEYS[31], KEYS[32])
    for _, i in ipairs(ended) do
      gone[i] = bodies[i]
      if dead[i] then revoked[i] = bodies[i] end
    end
    count_bodies(counts, gone, 'cancelled')
    count_bodies(counts, revoked, 'dead', -1)
    return function() save_members(counts, KEYS[31], KEYS[32], STATE) end
  end
  save_counts = pieces()
end

---------------------------------------------------------------------------------------------------------------- write

redis.call('ZREM', STALE, '') -- makes the other writes possible when the server is out of memory
if #removed > 0 then
  redis.call('HDEL', JOBS, unpack(removed))
  redis.call('HDEL', CRASHES, unpack(removed))
end
if #out.due > 0 then redis.call('ZREM', DUE, unpack(out.due)) end
if #out.dead > 0 then redis.call('ZREM', DEAD, unpack(out.dead)) end
if grouped.tune then
  local left = { unpack(removed) }
  for k = 1, #marks, 2 do left[#left + 1] = marks[k] end -- a void one waits for no turn
  leave_line(KEYS[26], KEYS[25], out.line, left)
  grouped.opened = grouped.tune(ended)
end
for l, members in pairs(out.parked) do
  redis.call('ZREM', KEYS[PARKED + l], unpack(members))
  if redis.call('ZCARD', KEYS[PARKED + l]) == 0 then unlist(UNHANDLED, STATE, ARGV[at_list + l]) end
end
if #out.ready > 0 then
  redis.call('ZADD', STALE, unpack(out.ready))
  redis.call('HSET', STATE, 'stale', '1')
end
if #marks > 0 then redis.call('HSET', JOBS, unpack(marks)) end
if #out.void > 0 then redis.call('ZADD', DUE, unpack(out.void)) end
local asked = 0
local forgotten = {}
for _, i in ipairs(ended) do forgotten[#forgotten + 1] = ids[i] end
for _, job in ipairs(running) do
  forgotten[#forgotten + 1] = job.id
  redis.call('HDEL', AFTER, job.id)
  if job.first then
    redis.call('HSET', KEYS[INFLIGHT + job.at], job.id, '!' .. job.fence)
    asked = asked + 1
  end
end
if asked > 0 then add_asked(STATE, state[2], asked) end
if save_counts then save_counts() end
if (state[1] or #out.ready > 0 or #marks > 0 or asked > 0) and state[1] ~= LAYOUT then redis.call('HSET', STATE, 'layout', LAYOUT) end

save_flights(flights, OPEN, BEHIND)
for i, name in ipairs(names) do
  -- a schedule that catches up: a ticker places the next run, because this flight has ended
  if flights.freed[name] and owes[i] then redis.call('ZADD', OWED, whole(owed_since(owes[i])), name) end
end
push_front(READY, front)
for i in pairs(was_taken) do
  if name_of[i] and was_taken[i] then add_unfinished(past, name_of[i], planned_of[i], -1) end
end
if cancels then
  for _, i in ipairs(ended) do
    local name, planned = name_of[i], planned_of[i]
    redis.call('HINCRBY', COUNTERS, CANCELLED, 1)
    if name then
      local _, created = policy(flights.definitions[name])
      if add_unfinished(past, name, planned, 0) or created and not created_later(created, planned) then redis.call('HINCRBY', COUNTERS, name .. CANCELLED, 1) end
      redis.call('XADD', RUNS, 'MAXLEN', '~', '10000', '*', 'schedule', name, 'planned', planned,
        'started', whole(now_ms), 'ended', whole(now_ms), 'outcome', 'cancelled')
      add_run(past, name, planned, 'cancelled|' .. whole(now_ms) .. '|' .. whole(now_ms))
    else
      run_manual(past, ids[i], 'cancelled|' .. whole(now_ms) .. '|' .. whole(now_ms))
    end
  end
end
for _, i in ipairs(ended) do end_manual(past, ids[i]) end
save_manual(past, LAST)
save_past(past, LAST, KEYS[22])
forget_ids(forgotten, ONCE, RESULTS, KEPT)
if #lifted > 0 then redis.call('ZREM', ONCE, unpack(lifted)) end
local keep_ms, queue, result = ARGV[at_job + 2 * n + 1], ARGV[at_job + 2 * n + 2], ARGV[at_job + 2 * n + 3]
if result and (answer[1] == 'e' or answer[1] == 'a') then -- its worker replaces the result of one in flight; if the worker vanishes, this result remains
  drop_results(over, RESULTS, KEPT)
  redis.call('HSET', RESULTS, ids[1], 'c' .. result)
  redis.call('ZADD', KEPT, whole(now_ms + tonumber(keep_ms)), ids[1])
end
if #ended + #lifted > 0 then remember_closed(CALLERS, ARGV[2], #ended + #lifted) end
for _, job in ipairs(running) do
  if workers[job.at] ~= '' then redis.call('PUBLISH', wake .. workers[job.at], 'c' .. job.fence .. '\t' .. job.id) end
end
if result and answer[1] == 'e' then redis.call('PUBLISH', wake .. 'ended:' .. queue .. '\t' .. ids[1], 'e') end
if #front + #out.void > 0 or grouped.opened and not state[7] then wake_one(IDLE, wake) end
return { whole(now_us), 1, #ended + #lifted, table.concat(answer) }
