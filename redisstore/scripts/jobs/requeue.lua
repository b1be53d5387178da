-- requeue.lua: move delayed, retrying, parked and dead jobs to the front of ready, at most 500, the first one foremost; jobs of a group to the front
-- of their group in line. An occurrence that
-- was not taken yet does not move, and neither does a job that has changed since the caller read it.
-- KEYS[1]  …:state      hash  layout, paused, parked, large, groups, grules, batches
-- KEYS[2]  …:jobs       hash  job ID -> envelope
-- KEYS[3]  …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[4]  …:ready      list  IDs of jobs to run now
-- KEYS[5]  …:dead       zset  job ID -> instant of its death, Unix ms
-- KEYS[6]  …:crashes    hash  job ID -> times its holder vanished
-- KEYS[7]  …:callers    zset  completed calls, see lib/closed.lua
-- KEYS[8]  …:idle       zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[9]  …:unhandled  zset  job name -> since when it has parked jobs, Unix ms
-- KEYS[10] …:stale      zset  IDs in ready that are void -> since when, Unix ms; see lib/stale.lua
-- KEYS[11] …:last       hash  schedule -> its last outcome, see lib/history.lua; its manual runs, see lib/manual.lua
-- KEYS[12] …:history    hash  schedule -> its last attempts
-- KEYS[13] …:line       zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[14] …:places     hash  job ID -> "<place> <group>"
-- KEYS[15] …:turns  zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[16] …:groups  hash  group -> its flights, tag and starts
-- KEYS[17] …:grules  hash  group -> its rule and pause
-- KEYS[18] …:opens  zset  group -> instant of its next start, Unix ms
-- KEYS[19] …:batches  hash  batch -> its counts, see lib/members.lua
-- KEYS[20] …:reports  zset  batch -> instant from which its counts are to be reported, Unix ms
-- KEYS[21...] …:parked:<name>  zset  job ID -> instant parked, Unix ms: every list, the shared one last
-- ARGV[1] a unique name of this call; ARGV[2] prefix of the wake-up channels; ARGV[3] how many lists of parked jobs
-- ARGV[4...] the names of the lists; five values for each job: its ID; its member in the shared list (empty: unknown); and for a
-- dead one its envelope as the caller has read it, its new envelope, and, for a manual run or a job that follows another one, its field in …:last
-- (empty: it is neither); for another job these three are empty
-- Returns time (us); how many jobs moved to ready; a letter for each job, none if the same call was completed before: e it moved to ready,
-- u it is an occurrence that was not taken yet, x it is a dead member of a batch that was cancelled, n it is not there, or has changed, or its ID came before
-- in the call.
local STATE, JOBS, DUE, READY, DEAD, CRASHES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local CALLERS, IDLE, UNHANDLED, STALE = KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local LINE, PLACES = KEYS[13], KEYS[14]
local TURNS, GROUPS, GRULES, OPENS = KEYS[15], KEYS[16], KEYS[17], KEYS[18]
local PARKED = 20 -- the lists of parked jobs come after KEYS[20]
local wake, n_lists = ARGV[2], tonumber(ARGV[3])
local at_job = 3 + n_lists
local n = (#ARGV - at_job) / 5
-- uses: limits callers clock layout seconds strings definition open flight void parked closed gate wake history manual expiry line queuelimit starts groups tuned front

local state = redis.call('HMGET', STATE, 'layout', 'paused', 'groups', 'grules', 'batches')
local refusal = newer(state[1])
if refusal then return refusal end
local before = answered(CALLERS, ARGV[1])
if before then return { whole(now_us), before, '' } end

local ids, answer, front, revived, envelopes = {}, {}, {}, {}, {}
for i = 1, n do ids[i] = ARGV[at_job + 5 * i - 4] end
local dead, due, void = redis.call('ZMSCORE', DEAD, unpack(ids)), redis.call('ZMSCORE', DUE, unpack(ids)), redis.call('ZMSCORE', STALE, unpack(ids))
local bodies, crashes = redis.call('HMGET', JOBS, unpack(ids)), redis.call('HMGET', CRASHES, unpack(ids))
local grouped, lined = find_grouped(state[3], PLACES, LINE, ids), {} -- lined: position -> ID, of the jobs of groups that move
local all = state[3] and open_tuned(state[3], state[4], grouped.entries, LINE, PLACES, TURNS, GROUPS, GRULES, OPENS)
local list_of, member_of = {}, {} -- of a parked job
for l = 1, n_lists do
  local members, shared = ids, ARGV[3 + l] == SHARED
  if shared then
    members = {}
    for i = 1, n do members[i] = ARGV[at_job + 5 * i - 3] end
  end
  for i, since in ipairs(redis.call('ZMSCORE', KEYS[PARKED + l], unpack(members))) do
    if since and (not shared or members[i] ~= '') then list_of[i], member_of[i] = l, members[i] end
  end
end
local revoked -- dead members of cancelled batches, ID -> batch; nil: none
local batched -- the piece members; nil: the partition has no batches
if state[5] then
  local function pieces()
    -- uses: members revoked
    local those, their = {}, {}
    for i = 1, n do
      if dead[i] then those[#those + 1], their[#their + 1] = ids[i], bodies[i] end
    end
    revoked = revoked_in(those, their, KEYS[19])
    batched = { check = check_members, count = count_bodies, save = save_members }
  end
  pieces()
end
local schedules, manual = {}, {} -- of dead jobs: the schedules; the positions of manual runs and of jobs that follow deaths
for i = 1, n do
  local name = dead[i] and occurrence(ids[i])
  if dead[i] and ARGV[at_job + 5 * i] ~= '' then
    local planned, kind, schedule = match(ARGV[at_job + 5 * i], '^(%S+) (%S+) (.+)$')
    manual[i] = { name = schedule, planned = planned, kind = kind }
    name = schedule
  end
  if name then schedules[#schedules + 1] = name end
end
local past, large = read_past(KEYS[11], schedules), false
read_manual(past, KEYS[11], ids)
redis.call('HLEN', KEYS[12])
redis.call('LLEN', READY)
redis.call('ZCARD', IDLE)
redis.call('ZCARD', UNHANDLED)

local out = { due = {}, dead = {}, parked = {} } -- the places that the moved jobs leave
local changed = 0
local given = {} -- IDs: a repeated one counts once, or it would be in ready twice
for i = 1, n do
  local id, read, new = ids[i], ARGV[at_job + 5 * i - 2], ARGV[at_job + 5 * i - 1]
  local goes = false
  if given[id] then
    goes = false
  elseif dead[i] and revoked and revoked[id] then
    answer[i] = 'x'
  elseif dead[i] then
    goes = new ~= '' and (bodies[i] or '') == read
    if goes then
      out.dead[#out.dead + 1] = id
      envelopes[#envelopes + 1], envelopes[#envelopes + 2] = id, new
      large = large or #new > LARGE_BYTES -- it may be the first one: an occurrence had none
      local name, planned = occurrence(id)
      if name then add_unfinished(past, name, planned, 1) end
      if manual[i] then begin_manual(past, id, manual[i].name, manual[i].planned, manual[i].kind) end
    end
  elseif new ~= '' then
    goes = false -- it was dead, and is no longer
  elseif (due[i] or grouped.members[i]) and occurrence(id) and not bodies[i] and not crashes[i] then
    answer[i] = 'u'
  elseif due[i] then
    goes = not bodies[i] or not is_mark_of_void(bodies[i])
    if goes then out.due[#out.due + 1] = id end
  elseif list_of[i] then
    goes = true
    local list = out.parked[list_of[i]] or {}
    out.parked[list_of[i]] = list
    list[#list + 1] = member_of[i]
  end
  if goes then
    local lasting = not dead[i] and expires_never(bodies[i])
    if lasting then envelopes[#envelopes + 1], envelopes[#envelopes + 2] = id, lasting end
    changed = changed + 1
    if grouped.entries[i] then
      lined[i] = id
    else
      local list = void[i] and revived or front
      list[#list + 1] = id
    end
  end
  answer[i] = answer[i] or (goes and 'e' or 'n')
  given[id] = true
end

local save_counts -- counts the members of batches that were dead; nil: the partition has no batches
if batched then
  local function counted()
    local counts, revived_bodies = {}, {}
    batched.check(KEYS[19], KEYS[20])
    for i = 1, n do
      if dead[i] and answer[i] == 'e' then revived_bodies[i] = bodies[i] end
    end
    batched.count(counts, revived_bodies, 'dead', -1)
    return function() batched.save(counts, KEYS[19], KEYS[20], STATE) end
  end
  save_counts = counted()
end
if changed == 0 then return { whole(now_us), 0, table.concat(answer) } end
local placed, members = {}, {} -- of the jobs of groups: the new entries of places, and the members of line
for i, entry in pairs(all and places_in_front(all, lined, grouped.entries) or {}) do
  placed[#placed + 1], placed[#placed + 2] = ids[i], entry
  members[#members + 1], members[#members + 2] = '0', line_member(ids[i], entry)
end
redis.call('ZREM', STALE, '', unpack(revived)) -- the first write needs no memory
push_front(READY, front)
if #placed > 0 then
  redis.call('HSET', PLACES, unpack(placed))
  redis.call('ZADD', LINE, unpack(members))
end
if all then tune_groups(all, STATE, LINE, PLACES, TURNS, GROUPS, OPENS) end
if #envelopes > 0 then redis.call('HSET', JOBS, unpack(envelopes)) end
if large then redis.call('HSETNX', STATE, 'large', '1') end
if #out.due > 0 then redis.call('ZREM', DUE, unpack(out.due)) end
if #out.dead > 0 then redis.call('ZREM', DEAD, unpack(out.dead)) end
for l, members in pairs(out.parked) do
  redis.call('ZREM', KEYS[PARKED + l], unpack(members))
  if redis.call('ZCARD', KEYS[PARKED + l]) == 0 then unlist(UNHANDLED, STATE, ARGV[3 + l]) end
end
save_manual(past, KEYS[11])
save_past(past, KEYS[11], KEYS[12])
if save_counts then save_counts() end
remember_closed(CALLERS, ARGV[1], changed)
if not state[2] then wake_one(IDLE, wake) end
return { whole(now_us), changed, table.concat(answer) }
