-- verify_job.lua: find the faults of jobs in all places, and repair them if requested and if they still exist.
-- KEYS[1]  …:state      hash  layout, parked, stale, groups, grules, paused, limit
-- KEYS[2]  …:sessions   zset  session -> instant it lapses, Unix ms
-- KEYS[3]  …:jobs       hash  job ID -> envelope
-- KEYS[4]  …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[5]  …:ready      list  IDs of jobs to run now
-- KEYS[6]  …:dead       zset  job ID -> instant of its death, Unix ms
-- KEYS[7]  …:crashes    hash  job ID -> times its holder vanished
-- KEYS[8]  …:behind     zset  "<schedule>\t<planned instant>" -> 0: occurrences behind the one in open; "~" before the instant: backfilled
-- KEYS[9]  …:unhandled  zset  job name -> since when it has parked jobs, Unix ms
-- KEYS[10] …:stale      zset  IDs in ready that are void -> since when, Unix ms; see lib/stale.lua
-- KEYS[11] …:purged     list  IDs of the jobs that are to be purged
-- KEYS[12] …:spared     zset  those among them that were void
-- KEYS[13] …:idle       zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[14] …:after      hash  job ID -> what follows its flight, see lib/after.lua
-- KEYS[15] …:progress   hash  job ID -> its progress
-- KEYS[16] …:line       zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[17] …:places     hash  job ID -> "<place> <group>"
-- KEYS[18] …:purgedline zset  likewise: jobs of groups that are to be purged
-- KEYS[19] …:turns  zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[20] …:groups  hash  group -> its flights, tag and starts
-- KEYS[21] …:grules  hash  group -> its rule and pause
-- KEYS[22] …:opens  zset  group -> instant of its next start, Unix ms
-- KEYS[23...] …:inflight:<session>  hash  job ID -> fence: of every session, and of those that are not listed but hold jobs
-- KEYS[24...] …:parked:<name>       zset  job ID -> instant parked, Unix ms: every list
-- ARGV[1] 1: repair, 0: look; ARGV[2] 1: search ready and purged, 0: a job that is in no other place may be there; ARGV[3] prefix of the wake-up
-- channels; ARGV[4] how many hashes; ARGV[5] how many lists; ARGV[6] the field parked of state before the shared list was searched for these jobs;
-- empty: there is no such list
-- ARGV[7...] the sessions; the names of the lists; three values for each job: its ID, its member in the shared list (empty: unknown), and
-- the fault to repair, as this script has returned it
-- Returns 0 if a session or a list is not in KEYS, or more was parked: then nothing is done; else 1; then the present or repaired fault of each
-- job: a word, and a letter for each place where it is, see below:
--   lost      it has an envelope and is in no list: it is added at the end of ready, or to line at its place there
--   mark      it was cancelled before its instant, and does not wait for it: the mark is removed
--   empty     it is in a list and has no envelope, which cannot be restored: it is removed
--   twice     it is in two places: it remains in the first of them
--   void      it is in stale and not in ready, so it could not be added there again: it is removed from stale
--   after     a job waits for the end of its flight, but no flight has the sign for it: the waiting job takes its place
--   progress  it has progress and is not in flight: the progress is removed
--   group     it has an entry in places that cannot be read, or is in no list and has no envelope: the entry is removed
--   unsure    it was not searched for in ready

-- The places, in the order in which one of two is kept: f in flight, F the same with the sign of a job that follows, l line, r ready, h behind another
-- occurrence, p parked, d due, x dead, u to be purged. An occurrence that is dead may be placed again, for example for a backfill.
local STATE, SESSIONS, JOBS, DUE, READY, DEAD, CRASHES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local BEHIND, UNHANDLED, STALE, PURGED, SPARED, IDLE, AFTER, PROGRESS = KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13], KEYS[14], KEYS[15]
local LINE, PLACES = KEYS[16], KEYS[17]
local INFLIGHT = 22 -- the hashes of the sessions come after KEYS[22]
local MAX_SEARCHED = 1000000 -- entries of a list: in a longer one only both ends are searched, where entries are added
local MAX_REMOVED = 100000 -- nothing is removed from a longer list
local repairs, searches, wake = ARGV[1] == '1', ARGV[2] == '1', ARGV[3]
local n_sessions, n_lists = tonumber(ARGV[4]), tonumber(ARGV[5])
local PARKED = INFLIGHT + n_sessions -- the lists come after the hashes
local at_list = 6 + n_sessions
local at_job = at_list + n_lists
local n = (#ARGV - at_job) / 3
-- uses: limits clock layout strings definition open flight void parked gate wake after later line entry
local state = redis.call('HMGET', STATE, 'layout', 'parked', 'groups', 'grules', 'paused', 'limit')
local refusal = newer(state[1])
if refusal then return refusal end

---------------------------------------------------------------------------------------------------------------- read

if ARGV[6] ~= '' and ARGV[6] ~= state[2] then return { 0 } end
local known = {}
for i = 7, at_job do known[ARGV[i]] = true end
for _, session in ipairs(redis.call('ZRANGE', SESSIONS, 0, -1)) do
  if not known[session] then return { 0 } end
end
for _, list in ipairs(redis.call('ZRANGE', UNHANDLED, 0, -1)) do
  if not known[list] then return { 0 } end
end

local ids, places, name_of, planned_of, flight_of, list_of = {}, {}, {}, {}, {}, {}
local function stands(i, letter) places[i] = places[i] .. letter end
for i = 1, n do
  ids[i], places[i] = ARGV[at_job + 3 * i - 2], ''
  name_of[i], planned_of[i] = occurrence(ids[i])
end
for s = 1, n_sessions do
  for i, fence in ipairs(redis.call('HMGET', KEYS[INFLIGHT + s], unpack(ids))) do
    if fence then
      stands(i, byte(fence, 1) == 43 and 'F' or 'f') -- +
      flight_of[i] = { at = s, sign = match(fence, '^([%-!%+]?)%d+$'), fence = match(fence, '%d+$') }
    end
  end
end

-- entries returns how often an ID is in a list of this length, up to a hundred times.
local function entries(list, length, id)
  local found = redis.call('LPOS', list, id, 'COUNT', '100', 'MAXLEN', whole(length > MAX_SEARCHED and MAX_SEARCHED / 2 or 0))
  if #found == 0 and length > MAX_SEARCHED then
    found = redis.call('LPOS', list, id, 'RANK', '-1', 'COUNT', '100', 'MAXLEN', whole(MAX_SEARCHED / 2))
  end
  return #found
end
local grouped = find_grouped(true, PLACES, LINE, ids) -- the flag may be lost
for i = 1, n do
  if grouped.members[i] then stands(i, 'l') end
end
local length, purging = redis.call('LLEN', READY), redis.call('LLEN', PURGED)
local void = redis.call('ZMSCORE', STALE, unpack(ids))
local in_ready = {} -- how often the i-th is in ready; nil: it was not searched for
for i = 1, searches and n or 0 do
  in_ready[i] = entries(READY, length, ids[i])
  if not void[i] then stands(i, string.rep('r', math.min(in_ready[i], 2))) end
end
local behind_as = {} -- the text in the set behind for the i-th, after its schedule's name
for i = 1, n do
  behind_as[i] = name_of[i] and waits_behind(BEHIND, name_of[i], planned_of[i])
  if behind_as[i] then stands(i, 'h') end
end
for l = 1, n_lists do
  local members, shared = ids, ARGV[at_list + l] == SHARED
  if shared then
    members = {}
    for i = 1, n do members[i] = ARGV[at_job + 3 * i - 1] end
  end
  for i, since in ipairs(redis.call('ZMSCORE', KEYS[PARKED + l], unpack(members))) do
    if since and (not shared or members[i] ~= '') then
      stands(i, 'p')
      list_of[i] = list_of[i] or {}
      table.insert(list_of[i], { at = l, member = members[i] })
    end
  end
end
local due, dead, spared = redis.call('ZMSCORE', DUE, unpack(ids)), redis.call('ZMSCORE', DEAD, unpack(ids)), redis.call('ZMSCORE', SPARED, unpack(ids))
local purgedline = find_grouped(true, PLACES, KEYS[18], ids).members
local follows, reports = redis.call('HMGET', AFTER, unpack(ids)), redis.call('HMGET', PROGRESS, unpack(ids))
local stored, marked = {}, {}
for i = 1, n do
  if due[i] then stands(i, 'd') end
  if dead[i] then stands(i, 'x') end
  if searches and purging > 0 and not spared[i] and entries(PURGED, purging, ids[i]) > 0 then stands(i, 'u') end
  if purgedline[i] then stands(i, 'u') end
  local bytes = redis.call('HSTRLEN', JOBS, ids[i])
  stored[i] = bytes > 0
  marked[i] = bytes > 0 and bytes < 100 and is_mark_of_void(redis.call('HGET', JOBS, ids[i]))
end
redis.call('HLEN', CRASHES)
redis.call('ZCARD', IDLE)

-------------------------------------------------------------------------------------------------------------- decide

-- fault returns the word for the fault of the i-th job; nil: it has none.
local function fault(i)
  local all = places[i]
  local flies = find(all, '[fF]')
  if grouped.entries[i] and (not is_entry(grouped.entries[i]) or all == '' and not stored[i] and (not name_of[i] or searches)) then return 'group' end
  if grouped.entries[i] and all == '' and not stored[i] then return 'unsure' end
  if follows[i] and not find(all, 'F', 1, true) then return 'after' end
  if void[i] and searches and in_ready[i] == 0 then return 'void' end
  if marked[i] and not due[i] then return 'mark' end
  if stored[i] and all == '' then return searches and 'lost' or 'unsure' end
  if not stored[i] and not name_of[i] and find(all, '[^u]') then return 'empty' end
  if #string.gsub(all, name_of[i] and 'x' or '', '') > 1 then return 'twice' end
  if reports[i] and not flies then return 'progress' end
  if void[i] and not searches then return 'unsure' end
end
local answer = { 1 }
for i = 1, n do
  local what = fault(i)
  answer[i + 1] = what and what .. ' ' .. places[i] or ''
end
if not repairs then return answer end

-------------------------------------------------------------------------------------------------------------- repair

local has_groups = false -- a job belongs to a group
for i = 1, n do has_groups = has_groups or grouped.entries[i] ~= nil end
local function pieces()
  -- uses: queuelimit starts groups tuned due waiting alarm repaired
  local all = open_tuned(state[3], state[4], grouped.entries, LINE, PLACES, KEYS[19], KEYS[20], KEYS[21], KEYS[22])
  return function(ended)
    for i in pairs(ended) do unblock_job(all, ids[i], grouped.entries[i]) end
    if has_groups then tune_groups(all, STATE, LINE, PLACES, KEYS[19], KEYS[20], KEYS[22]) end
    return all.opened or all.alarmed
  end, function() wake_repaired(state[5], state[6], state[3], wake, IDLE, READY, DUE, KEYS[19], KEYS[22]) end
end
local tune, wake_next = pieces() -- tune decides where the groups of these jobs belong, and reports whether one of them may start a job now, or later
local ended = {} -- positions of jobs whose entries are removed
local joined, voided = false, false -- joined: a job waits again, now or until it is due
redis.call('ZREM', STALE, '') -- the first write needs no memory

-- enter adds a job to ready, or makes its old place there valid again.
local function enter(i)
  local entry = grouped.entries[i]
  if entry and match(entry, '^0+ ') then entry = string.format('%016d', now_us) .. ' ' .. match(entry, ' (.+)$') end
  local member = entry and line_member(ids[i], entry)
  if member then
    redis.call('HSET', PLACES, ids[i], entry)
    redis.call('ZADD', LINE, '0', member)
  elseif void[i] then
    redis.call('ZREM', STALE, ids[i])
    if in_ready[i] == 0 then redis.call('RPUSH', READY, ids[i]) end
  else
    redis.call('RPUSH', READY, ids[i])
  end
  joined = true
end

-- leave removes a job from its places in sorted sets.
local function leave(i, keep)
  local id = ids[i]
  if keep ~= 'l' and grouped.members[i] then redis.call('ZREM', LINE, grouped.members[i]) end
  if keep ~= 'd' and due[i] then redis.call('ZREM', DUE, id) end
  if keep ~= 'x' and dead[i] and not name_of[i] then redis.call('ZREM', DEAD, id) end
  if keep ~= 'h' and behind_as[i] then redis.call('ZREM', BEHIND, name_of[i] .. '\t' .. behind_as[i]) end
  for k, parked in ipairs(list_of[i] or {}) do
    if keep ~= 'p' or k > 1 then
      redis.call('ZREM', KEYS[PARKED + parked.at], parked.member)
      -- read after write: the rest of the list is known only now
      if redis.call('ZCARD', KEYS[PARKED + parked.at]) == 0 then unlist(UNHANDLED, STATE, ARGV[at_list + parked.at]) end
    end
  end
end

-- follow puts the job that waits for the end of a flight in place, if that flight does not exist or does not have the sign for it.
local function follow(i)
  local id, flight, all = ids[i], flight_of[i], places[i]
  local due_ms, body = after_of(follows[i])
  if body and flight and (flight.sign == '' or flight.sign == '-') then
    redis.call('HSET', KEYS[INFLIGHT + flight.at], id, '+' .. flight.fence)
    redis.call('HSET', STATE, 'layout', LAYOUT)
    return
  end
  if body and not flight then
    redis.call('HSET', JOBS, id, body)
    if #body > LARGE_BYTES then redis.call('HSETNX', STATE, 'large', '1') end
    if all == '' and due_ms > now_ms then
      redis.call('ZADD', DUE, whole(due_ms), id)
      joined = true
    elseif all == '' then
      enter(i)
    end
  end
  redis.call('HDEL', AFTER, id)
end

for i, id in ipairs(ids) do
  local what, all = match(answer[i + 1], '^%a+'), places[i]
  if answer[i + 1] == '' or answer[i + 1] ~= ARGV[at_job + 3 * i] then
  elseif what == 'after' then
    follow(i)
  elseif what == 'void' then
    redis.call('ZREM', STALE, id)
  elseif what == 'mark' then
    redis.call('HDEL', JOBS, id)
  elseif what == 'lost' then
    enter(i)
  elseif what == 'progress' then
    redis.call('HDEL', PROGRESS, id)
  elseif what == 'group' then
    if grouped.members[i] then redis.call('ZREM', LINE, grouped.members[i]) end
    leave_line(PLACES, LINE, {}, { id })
    ended[i] = true
  elseif what == 'empty' and not find(all, '[fF]') then
    leave(i, '')
    redis.call('HDEL', CRASHES, id)
    if grouped.entries[i] then
      leave_line(PLACES, LINE, {}, { id })
      ended[i] = true
    end
    if find(all, 'r', 1, true) or void[i] then
      redis.call('ZADD', STALE, whole(now_ms) .. '.5', id)
      voided = true
    end
  elseif what == 'twice' then
    local keep = match(all, '[^u]')
    leave(i, keep)
    if purgedline[i] then redis.call('ZREM', KEYS[18], purgedline[i]) end
    if find(all, 'u', 1, true) and not purgedline[i] then redis.call('ZADD', SPARED, whole(now_ms), id) end
    if (in_ready[i] or 0) > 0 and not void[i] and length <= MAX_REMOVED then
      if keep ~= 'r' then
        redis.call('LREM', READY, '0', id)
      elseif in_ready[i] > 1 then
        redis.call('LREM', READY, whole(1 - in_ready[i]), id)
      end
    end
  end
end
if tune(ended) then joined = true end
if voided then redis.call('HSET', STATE, 'stale', '1') end
-- read after write: the rest of it is known only now
if redis.call('ZCARD', STALE) == 0 then redis.call('HDEL', STATE, 'stale') end
if joined then wake_next() end
return answer
