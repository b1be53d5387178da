-- backfill.lua: place past occurrences of a schedule, at most 500, that it has not placed or that ran before: planned instants up to its cursor.
-- KEYS[1]  …:state      hash  layout, paused, limit, large, groups, grules
-- KEYS[2]  …:sessions   zset  session -> instant it lapses, Unix ms
-- KEYS[3]  …:jobs       hash  job ID -> envelope
-- KEYS[4]  …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[5]  …:ready      list  IDs of jobs to run now
-- KEYS[6]  …:dead       zset  job ID -> instant of its death, Unix ms
-- KEYS[7]  …:crashes    hash  job ID -> times its holder vanished
-- KEYS[8]  …:open       hash  schedule -> see lib/open.lua
-- KEYS[9]  …:behind     zset  "<schedule>\t<planned instant>" -> 0: occurrences behind the one in open; "~" before the instant: backfilled
-- KEYS[10] …:schedules  hash  schedule -> definition
-- KEYS[11] …:cursors    hash  schedule -> cursor
-- KEYS[12] …:callers    zset  completed calls, see lib/closed.lua
-- KEYS[13] …:idle       zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[14] …:unhandled  zset  job name -> since when it has parked jobs, Unix ms
-- KEYS[15] …:stale      zset  IDs in ready that are void -> since when, Unix ms; see lib/stale.lua
-- KEYS[16] …:last       hash  schedule -> its last outcome, see lib/history.lua
-- KEYS[17] …:history    hash  schedule -> its last attempts
-- KEYS[18] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[19] …:counters   hash
-- KEYS[20] …:line  zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[21] …:places  hash  job ID -> "<place> <group>"
-- KEYS[22] …:turns  zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[23] …:groups  hash  group -> its flights, tag and starts
-- KEYS[24] …:grules  hash  group -> its rule and pause
-- KEYS[25] …:opens  zset  group -> instant of its next start, Unix ms
-- KEYS[26...] …:inflight:<session>  hash  job ID -> fence: of every session
-- KEYS[27...] …:parked:<name>       zset  job ID -> instant parked, Unix ms: every list, the shared one last
-- ARGV[1] a unique name of this call; ARGV[2] prefix of the wake-up channels; ARGV[3] the schedule; ARGV[4] its revision
-- ARGV[5] how many sessions; ARGV[6] how many lists of parked jobs; ARGV[7] how many instants
-- ARGV[8] the field parked of state before the shared list was searched for these jobs; empty: there is no such list
-- ARGV[9] how many unfinished runs the schedule may have: more are not placed; 0: any number; ARGV[10] the group of the occurrences; empty: none
-- ARGV[11...] the sessions; the names of the lists; three values for each instant, the oldest first: its text, the member of its job in the
--          shared list (empty: unknown), the envelope
-- Returns time (us); 1 (0: nothing was done, because a session or a list is not in KEYS, or more was parked; -1: nothing was done, because the
-- schedule does not exist; -2: because it is at another revision, or moves; -3: because its definition cannot be read); how many were placed; how
-- many existed already; the definition, unless it is 1; how many were skipped, because the schedule has its maximum of unfinished runs.

-- The effect on an instant:
--
--   its job is in flight, due, parked, in ready, line or behind ──► it does not change, and counts as existing
--   after the cursor, or in the future, and in no list    ──► nothing: the schedule itself places it
--   dead, or in no list                                   ──► placed, with an envelope, so that takes do not count it as a new one:
--        policy allow                                           at the end of ready, or of its group in line
--        else, the schedule is held, or another is older        behind, with LATER: after all others that wait for the schedule
--        else                                                   the front of ready; the schedule is held for it, and it yields (lib/open.lua)
-- If it has a group, it gets its place there now, in the order of instants.
--
-- Then an ID is in one of these places. If the schedule was free and has another policy than allow, exactly one of its IDs is in ready
-- and open is held for it; so the script that ends its flight releases the next one, until all have run. The cursor, owed and the used runs do not
-- change. A job counts as unfinished from here on. Under policy cancel, open of a free schedule may have an occurrence that waits for its
-- retry: it leaves open here, and then a later one ends its retries only if it is in flight when that one comes.
local STATE, SESSIONS, JOBS, DUE, READY, DEAD, CRASHES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local OPEN, BEHIND, SCHEDULES, CURSORS, CALLERS, IDLE = KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13]
local UNHANDLED, STALE, LAST, HISTORY, OWED = KEYS[14], KEYS[15], KEYS[16], KEYS[17], KEYS[18]
local COUNTERS = KEYS[19]
local INFLIGHT = 25 -- the hashes of the sessions come after KEYS[25]
local DEPTH = 1000 -- how deep ready is searched for occurrences without an envelope: they were put back to its front
local BOTH = 1000 -- two numbers of the answer are stored as one; the third one has a name of its own, because a stored number is below ROUND
local SKIPS = ' skipped'
local wake, name, n_sessions, n_lists, n = ARGV[2], ARGV[3], tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local PARKED = INFLIGHT + n_sessions -- the lists come after the hashes
local at_list = 10 + n_sessions
local at_job = at_list + n_lists
-- uses: limits callers clock layout seconds strings instant counters definition owed open flight parked closed gate wake alarm due waiting queuelimit history bars later unfinished

local state = redis.call('HMGET', STATE, 'layout', 'paused', 'limit', 'parked', 'large', 'groups', 'grules')
local refusal = newer(state[1])
if refusal then return refusal end
local before = answered(CALLERS, ARGV[1])
if before then return { whole(now_us), 1, math.floor(before / BOTH), before % BOTH, '', answered(CALLERS, ARGV[1] .. SKIPS) or 0 } end

---------------------------------------------------------------------------------------------------------------- read

local flights, front = read_flights(OPEN, BEHIND, SCHEDULES, CURSORS, { name }, { [name] = true }), {}
local text = flights.definitions[name]
if not text then return { whole(now_us), -1, 0, 0, '' } end
local h = head(text)
if not h then return { whole(now_us), -3, 0, 0, text } end
if h.revision ~= ARGV[4] or is_mark(h.state) then return { whole(now_us), -2, 0, 0, text } end
if ARGV[8] ~= '' and ARGV[8] ~= state[4] then return { whole(now_us), 0, 0, 0, '' } end
local known = {}
for i = 11, at_job do known[ARGV[i]] = true end
for _, session in ipairs(redis.call('ZRANGE', SESSIONS, 0, -1)) do
  if not known[session] then return { whole(now_us), 0, 0, 0, '' } end
end
for _, list in ipairs(redis.call('ZRANGE', UNHANDLED, 0, -1)) do
  if not known[list] then return { whole(now_us), 0, 0, 0, '' } end
end

local ids, planned_of, position, waits = {}, {}, {}, {}
for i = 1, n do
  local planned = ARGV[at_job + 3 * i - 2]
  ids[i], planned_of[i] = name .. '@' .. planned, planned
  position[ids[i]] = i
end
local exists = {}
for s = 1, n_sessions do
  for i, fence in ipairs(redis.call('HMGET', KEYS[INFLIGHT + s], unpack(ids))) do exists[i] = exists[i] or fence end
end
for l = 1, n_lists do
  local members, shared = ids, ARGV[at_list + l] == SHARED
  if shared then
    members = {}
    for i = 1, n do members[i] = ARGV[at_job + 3 * i - 1] end
  end
  for i, since in ipairs(redis.call('ZMSCORE', KEYS[PARKED + l], unpack(members))) do
    exists[i] = exists[i] or since and members[i] ~= ''
  end
end
for _, later in ipairs({ '', LATER }) do
  for i = 1, n do waits[i] = name .. '\t' .. later .. planned_of[i] end
  for i, there in ipairs(redis.call('ZMSCORE', BEHIND, unpack(waits))) do exists[i] = exists[i] or there end
end
for _, id in ipairs(redis.call('LRANGE', READY, 0, DEPTH - 1)) do
  if position[id] then exists[position[id]] = true end
end
local grouped -- nil: no job has a group
if state[6] or ARGV[10] ~= '' then
  local function pieces() -- a function has locals of its own: here they would be too many
    -- uses: starts line groups
    local all, members, entries, group, gone = open_groups(state[6], state[7]), {}, {}, ARGV[10], {}
    local found = find_grouped(state[6], KEYS[21], KEYS[20], ids)
    for i in pairs(found.members) do exists[i] = true end
    if group ~= '' then read_groups(all, { group }, KEYS[22], KEYS[23], KEYS[24]) end
    check_groups(KEYS[20], KEYS[21], KEYS[22], KEYS[23], KEYS[25])
    return {
      all = all,
      -- places gives the i-th its place in the group; waits: it waits to run now, and is in no other list. Without a group it has none any more.
      places = function(i, waits)
        if group == '' then
          gone[#gone + 1] = found.entries[i] and ids[i]
          return
        end
        local entry, member = enter_line(all, group, ids[i])
        entries[#entries + 1], entries[#entries + 2] = ids[i], entry
        if waits then members[#members + 1], members[#members + 2] = '0', member end
      end,
      save = function()
        if #gone > 0 then redis.call('HDEL', KEYS[21], unpack(gone)) end
        if #entries > 0 then redis.call('HSET', KEYS[21], unpack(entries)) end
        if #members > 0 then redis.call('ZADD', KEYS[20], unpack(members)) end
        tune_groups(all, STATE, KEYS[20], KEYS[21], KEYS[22], KEYS[23], KEYS[25])
      end,
    }
  end
  grouped = pieces()
end
local dead, due = redis.call('ZMSCORE', DEAD, unpack(ids)), redis.call('ZMSCORE', DUE, unpack(ids))
local bodies, crashes = redis.call('HMGET', JOBS, unpack(ids)), redis.call('HMGET', CRASHES, unpack(ids))
local void = redis.call('ZMSCORE', STALE, unpack(ids))
local open_id = opened(flights.opens[name])
local owes = redis.call('ZSCORE', OWED, name)
local head = due_head(DUE)
local past = read_past(LAST, { name })
redis.call('HLEN', HISTORY)
redis.call('HLEN', COUNTERS)
redis.call('ZCARD', IDLE)

-------------------------------------------------------------------------------------------------------------- decide

-- backfilled counts an occurrence as unfinished. It may have been planned for an instant before its schedule was created: from
-- then on, occurrences planned for such instants belong to this schedule too.
local function backfilled(past, name, planned)
  if add_unfinished(past, name, planned, 1) or not past.known[name] then return end
  local known = past.known[name]
  known.created, known.since = match(known.created, '^[^,]+') .. ',' .. planned, planned
  add_unfinished(past, name, planned, 1)
end

local latest, now = cursor(flights.cursors[name]), instant(now_s)
local existing, placed, full, large = 0, {}, 0, false -- placed: positions
local counted = add_unfinished(past, name, now, 0)
local room = counted and ARGV[9] ~= '0' and math.max(tonumber(ARGV[9]) - counted.unfinished, 0)
for i = 1, n do
  local planned = planned_of[i]
  local there = exists[i] and (not void[i] or bodies[i]) or due[i] or not dead[i] and (bodies[i] or crashes[i]) or open_id == ids[i]
  if there then
    existing = existing + 1
  elseif planned <= now and planned <= (latest or h.created) then
    if room and #placed >= room then
      full = full + 1
    else
      placed[#placed + 1] = i
    end
    large = large or #ARGV[at_job + 3 * i] > LARGE_BYTES
  end
end
if full > 0 then
  add_run(past, name, planned_of[n], 'skipped|' .. whole(now_ms) .. '|' .. whole(now_ms) .. '|0|' .. whole(now_us) .. '||' .. too_many(ARGV[9]) .. '\t')
end
if #placed + full == 0 then return { whole(now_us), 1, 0, existing, '', 0 } end

local envelopes, ready, revived, revives, uncrashed = {}, {}, {}, {}, {}
local list = flights.behind[name] or {}
flights.behind[name] = list
for _, i in ipairs(placed) do
  envelopes[#envelopes + 1], envelopes[#envelopes + 2] = ids[i], ARGV[at_job + 3 * i]
  if dead[i] then revives[#revives + 1] = ids[i] end
  if crashes[i] then uncrashed[#uncrashed + 1] = ids[i] end
  if grouped then grouped.places(i, ARGV[10] ~= '' and h.overlap == 'allow') end
  if h.overlap == 'allow' and ARGV[10] ~= '' then
    -- it is in line; its ID in ready, if it is there, remains void
  elseif void[i] then
    revived[#revived + 1] = ids[i] -- it is in ready and keeps its place
  elseif h.overlap == 'allow' then
    ready[#ready + 1] = ids[i]
  else
    list[#list + 1] = LATER .. planned_of[i]
    flights.joined[#flights.joined + 1] = name .. '\t' .. LATER .. planned_of[i]
  end
  backfilled(past, name, planned_of[i])
end
local waiting = #flights.joined > 0
if waiting then
  table.sort(list)
  if not is_held(flights.opens[name]) then hold_next(flights, front, name, sub(h.overlap, 1, 1), '') end
end

--------------------------------------------------------------------------------------------------------------- write

if #placed > 0 then redis.call('HSET', JOBS, unpack(envelopes)) end -- first, because it takes memory: without memory, nothing is placed
for _, field in ipairs(full > 0 and { name .. SKIPPED, name .. FULL, SKIPPED } or {}) do redis.call('HINCRBY', COUNTERS, field, full) end
if #revives > 0 then redis.call('ZREM', DEAD, unpack(revives)) end
if grouped then grouped.save() end
if #uncrashed > 0 then redis.call('HDEL', CRASHES, unpack(uncrashed)) end
if #revived > 0 then redis.call('ZREM', STALE, unpack(revived)) end
if #ready > 0 then redis.call('RPUSH', READY, unpack(ready)) end
save_flights(flights, OPEN, BEHIND)
push_front(READY, front)
save_past(past, LAST, HISTORY)
if waiting and owes and tonumber(owes) >= HELD and not bars(flights.opens[name]) then
  redis.call('ZADD', OWED, whole(owed_since(owes)), name) -- a caught-up run does not wait for a backfilled one
end
if large and not state[5] then redis.call('HSET', STATE, 'large', '1') end
if state[1] ~= LAYOUT then redis.call('HSET', STATE, 'layout', LAYOUT) end
remember_closed(CALLERS, ARGV[1], #placed * BOTH + existing)
if full > 0 then remember_closed(CALLERS, ARGV[1] .. SKIPS, full) end
local startable = #front + #ready + #revived > 0 or grouped and grouped.all.opened
if (startable or grouped and grouped.all.alarmed) and not state[2] then
  local next_ms = startable and now_ms or grouped.all.alarmed and head_due(DUE, KEYS[25], true)
  if state[3] then
    local limit = read_limit(state[3])
    if limit then next_ms = next_start(limit, startable and head or next_ms, startable) end
  end
  if next_ms == now_ms then
    wake_one(IDLE, wake)
  elseif next_ms >= 0 then
    keep_alarm(IDLE, wake, next_ms)
  end
end
return { whole(now_us), 1, #placed, existing, '', full }
