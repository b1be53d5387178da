-- sweep.lua: remove old data, at most 500 items a call in total: dead jobs, parked jobs, results, records of …:once and marks of moved schedules.
-- Each kind may use a fifth of these, and what the others leave: a flood of one kind delays no other.
-- Registrations of workers and enqueuers that are gone are removed with one command each; announcements a few at a time.
-- KEYS[1]  …:dead       zset  job ID -> instant of its death, Unix ms
-- KEYS[2]  …:jobs       hash  job ID -> envelope
-- KEYS[3]  …:callers    zset  enqueuer -> instant and number of its last call, see lib/callers.lua; #enqueued
-- KEYS[4]  …:idle       zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[5]  …:state      hash  layout, parked, large, swept, groups, grules, batches, tended: the last sweep that finished, the last other duties, Unix s
-- KEYS[6]  …:crashes    hash  job ID -> times its holder vanished
-- KEYS[7]  …:schedules  hash  schedule -> definition
-- KEYS[8]  …:cursors    hash  schedule -> cursor
-- KEYS[9]  …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[10] …:gone       zset  schedule that lived here -> when it left or was deleted, Unix us
-- KEYS[11] …:unhandled  zset  job name -> since when it has parked jobs, Unix ms
-- KEYS[12] …:handlers   hash  job name -> workers that handle it, see lib/handlers.lua
-- KEYS[13] …:results    hash  job ID -> its result
-- KEYS[14] …:kept       zset  job ID -> until when its result is kept, Unix ms
-- KEYS[15] …:owners     hash  schedule -> its owner
-- KEYS[16] …:last       hash  schedule -> its last outcome, see lib/history.lua; its manual runs, see lib/manual.lua
-- KEYS[17] …:history    hash  schedule -> its last attempts
-- KEYS[18] …:once       zset  job ID -> until when it is not added again, Unix ms
-- KEYS[19] …:counters   hash
-- KEYS[20] …:zones      hash  schedule -> local time of its last occurrence, see lib/zones.lua
-- KEYS[21] …:notes      hash  schedule -> note of its pause
-- KEYS[22] …:origins    hash  schedule -> queues that it has left
-- KEYS[23] …:line  zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[24] …:places  hash  job ID -> "<place> <group>"
-- KEYS[25] …:turns  zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[26] …:groups  hash  group -> its flights, tag and starts
-- KEYS[27] …:grules  hash  group -> its rule and pause
-- KEYS[28] …:opens  zset  group -> instant of its next start, Unix ms
-- KEYS[29] …:outbox  zset  entries that wait, see lib/outbox.lua
-- KEYS[30] …:delivered  zset  entries that were carried
-- KEYS[31] …:batches  hash  batch -> its counts, see lib/members.lua
-- KEYS[32] …:reports  zset  batch -> instant from which its counts are to be reported, Unix ms
-- KEYS[33...] …:parked:<name>  zset  job ID -> instant parked, Unix ms
-- ARGV[1] how long dead jobs are kept, ms; ARGV[2] how many at most; ARGV[3] retention of parked jobs and marks of moved schedules, ms
-- ARGV[4] if the partition was swept so recently, ms, nothing is done; ARGV[5] a random number; ARGV[6] 1: other lists have old jobs too, else 0
-- ARGV[7] prefix of the channels for callers that wait for a job of this queue; ARGV[8] prefix of the wake-up channels; ARGV[9...] the names of the
-- parked lists
-- Returns time (us); 1 if more remain, 0 if not, 2 if the partition was swept so recently; then, except for 2: 1 if parked jobs past their
-- retention were not read, else 0; and of the jobs that remain parked because a job may follow their death (see lib/expired.lua), at most 50,
-- six values each: entry in the list, name of the list, e or d, envelope or definition, crashes, 1 if twice the retention has passed, else 0; and at
-- the end, 1 if the caller must do the other duties of a sweep now, else 0; 1 if there are entries in the outbox, or carried ones, else 0; 1 if counts of batches are to be reported, 2 if there are only others, else 0.
local DEAD, JOBS, CALLERS, IDLE, STATE, CRASHES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local SCHEDULES, CURSORS, OWED, GONE = KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local UNHANDLED, HANDLERS, RESULTS, KEPT, OWNERS, ONCE = KEYS[11], KEYS[12], KEYS[13], KEYS[14], KEYS[15], KEYS[18]
local LINE, PLACES, TURNS, GROUPS, GRULES, OPENS = KEYS[23], KEYS[24], KEYS[25], KEYS[26], KEYS[27], KEYS[28]
local PARKED, NAMES = 32, 8 -- the parked lists come behind KEYS[32], their names behind ARGV[8]
local ASKED, ASKED_BYTES = 50, 262144 -- how many expired jobs are returned at most, and about how many bytes of them
local TENDED_S = 60 -- the caller does the other duties of a sweep at least this often, even if more is left to remove
local ASLEEP_MS = 60000 -- a worker that has slept for longer without renewing its registration is gone
-- uses: limits bytes callers clock layout seconds strings counters definition envelope open flight parked handlers history manual expired histories
local state = redis.call('HMGET', STATE, 'swept', 'parked', 'tended', 'layout', 'groups', 'grules', 'paused', 'batches')
local refusal = newer(state[4])
if refusal then return refusal end
local swept = tonumber(state[1] or 0) or 0
if now_s >= swept and (now_s - swept) * 1000 < tonumber(ARGV[4]) then return { whole(now_us), 2 } end

-- oldest returns the members of a sorted set up to this score, at most max of them, and whether there are more.
local function oldest(key, score, max)
  local members = redis.call('ZRANGEBYSCORE', key, '-inf', score, 'LIMIT', 0, max + 1)
  local more = #members > max
  if more then members[max + 1] = nil end
  return members, more
end

-- share_out divides the items that this call may touch among the kinds, by how many each has.
local function share_out(total, wanted)
  local shares, left = {}, total
  for i, n in ipairs(wanted) do
    shares[i] = math.min(n, math.floor(total / #wanted))
    left = left - shares[i]
  end
  for i, n in ipairs(wanted) do
    local more = math.min(n - shares[i], left)
    shares[i], left = shares[i] + more, left - more
  end
  return shares
end

local owing = redis.call('ZCARD', KEYS[29]) + redis.call('ZCARD', KEYS[30]) > 0
local long_ago, longer_ago = now_ms - tonumber(ARGV[3]), now_ms - 2 * tonumber(ARGV[3])
local too_old = redis.call('ZCOUNT', DEAD, '-inf', whole(now_ms - tonumber(ARGV[1])))
local n_dead, max_dead = redis.call('ZCARD', DEAD), tonumber(ARGV[2])
local excess = math.max(too_old, n_dead - max_dead, 0)
local n_parked = 0
for i = PARKED + 1, #KEYS do n_parked = n_parked + redis.call('ZCOUNT', KEYS[i], '-inf', whole(long_ago)) end
n_parked = n_parked + math.max(n_parked - math.max(max_dead - n_dead + math.min(excess, MAX_ITEMS), 0), 0) -- without room each removes a dead one
local may_touch = share_out(MAX_ITEMS, { excess, n_parked, redis.call('ZCOUNT', KEPT, '-inf', whole(now_ms)),
  redis.call('ZCOUNT', ONCE, '-inf', whole(now_ms)), redis.call('ZCOUNT', GONE, '-inf', whole(long_ago * 1000)) })

-- dead jobs: those that are too old, and the oldest ones above the maximum number
local n_buried = may_touch[1]
local more = excess > n_buried

-- expired parked jobs are dead; if there is no room among the dead jobs, an older one is removed. Some expired jobs remain
-- parked, so a call does not read the oldest ones, but a random range.
local room = math.max(max_dead - (n_dead - n_buried), 0)
local may = may_touch[2]
if may > room then may = room + math.floor((may - room) / 2) end
local ids, lists, entries, parked_at, unseen = {}, {}, {}, {}, ARGV[6] == '1'
for i = PARKED + 1, #KEYS do
  local n = redis.call('ZCOUNT', KEYS[i], '-inf', whole(long_ago))
  local some, first = math.min(n, may - #ids), n > 0 and tonumber(ARGV[5]) % n or 0
  unseen = unseen or some < n
  for _, range in ipairs(some > 0 and { { first, math.min(first + some, n) - 1 }, { 0, first + some - n - 1 } } or {}) do
    local found = range[1] <= range[2] and redis.call('ZRANGE', KEYS[i], whole(range[1]), whole(range[2]), 'WITHSCORES') or {}
    for k = 1, #found, 2 do
      local at = #ids + 1
      ids[at], lists[at], entries[at] = id_in(ARGV[i - PARKED + NAMES], found[k]), i, found[k]
      parked_at[at] = tonumber(found[k + 1]) or 0 -- not every Lua reads -inf as a number
    end
  end
end
unseen = #ids > 0 and cut_bytes(ids, lists, JOBS, SCHEDULES) or unseen
local bodies, definitions = #ids > 0 and redis.call('HMGET', JOBS, unpack(ids)) or {}, {} -- definitions: of occurrences without a body
local names, of = {}, {} -- their schedules, and which of ids these are
for i, id in ipairs(ids) do
  local name = not bodies[i] and occurrence(id)
  if name then names[#names + 1], of[#of + 1] = name, i end
end
for k, text in ipairs(#names > 0 and redis.call('HMGET', SCHEDULES, unpack(names)) or {}) do
  local _, planned = occurrence(ids[of[k]])
  local _, created = policy(text)
  if created and not created_later(created, planned) then definitions[of[k]] = text end -- else it belongs to a later schedule of that name
end
local given_up, n_given, asked, asked_bytes, needed = {}, 0, {}, 0, {} -- needed: schedules whose definition is returned
for i, id in ipairs(ids) do
  local text = bodies[i] or definitions[i]
  local follows, last = what_follows(bodies[i], definitions[i]), parked_at[i] <= longer_ago
  if not follows or follows == 'waits' and last then
    n_given = n_given + 1
    given_up[n_given] = i
  elseif follows == 'asks' and (#asked == 0 or #asked < 6 * ASKED and asked_bytes + #text <= ASKED_BYTES) then
    local n = #asked
    asked[n + 1], asked[n + 2], asked[n + 3], asked[n + 4] = entries[i], ARGV[lists[i] - PARKED + NAMES], bodies[i] and 'e' or 'd', text
    asked[n + 5], asked[n + 6] = redis.call('HGET', CRASHES, id) or '0', last and 1 or 0
    asked_bytes = asked_bytes + #text
  elseif follows == 'asks' then
    unseen = true
  end
  if follows and not bodies[i] then needed[occurrence(id)] = true end
end
more = more or unseen and n_given + excess > 0 -- else the jobs that remain would cause call after call
n_buried = math.min(n_buried + math.max(n_given - room, 0), n_dead)
local buried = n_buried > 0 and redis.call('ZRANGE', DEAD, 0, n_buried - 1) or {}

-- expired results
local outdated, more_outdated = oldest(KEPT, whole(now_ms), may_touch[3])

-- expired records of jobs that may be enqueued again
local free, more_free = oldest(ONCE, whole(now_ms), may_touch[4])
more = more or more_outdated or more_free

-- announcements
local gone, announced = {}, redis.call('HRANDFIELD', HANDLERS, 50, 'WITHVALUES')
for i = 1, #announced, 2 do
  local fresh = false
  for at in string.gmatch(announced[i + 1], '%S+ (%d+) ') do fresh = fresh or now_s - tonumber(at) < GONE_S end
  if not fresh then gone[#gone + 1] = announced[i] end
end

-- marks of moved schedules, and records of deleted ones; marks of schedules that are still owed remain, because the move is not complete
local marks, more_marks = oldest(GONE, whole(long_ago * 1000), may_touch[5])
local texts = #marks > 0 and redis.call('HMGET', SCHEDULES, unpack(marks)) or {}
local since = #marks > 0 and redis.call('ZMSCORE', OWED, unpack(marks)) or {}
local histories = #marks > 0 and redis.call('HMGET', KEYS[17], unpack(marks)) or {}
local done, marked, forgotten = {}, {}, {} -- names of the marks to remove; those whose definition is still the mark; those without a definition
local n_fields = 0 -- fields of …:history of these marks; if they are many, other marks remain for the next call
for i, name in ipairs(marks) do
  local h = head(texts[i])
  if n_fields > 4 * MAX_ITEMS and h and is_mark(h.state) then
    more = true
  elseif not since[i] and not needed[name] then
    done[#done + 1] = name
    if h and is_mark(h.state) then
      marked[#marked + 1] = name
      n_fields = n_fields + #fields_of(name, histories[i])
    end
    if not texts[i] or h and is_mark(h.state) then forgotten[#forgotten + 1] = name end
  end
end
more = more or more_marks and (may_touch[5] < MAX_ITEMS or #done > 0) -- else the marks that remain would cause call after call

-- read, so that a key of a wrong type stops the call here
redis.call('HLEN', JOBS)
redis.call('HLEN', CRASHES)
redis.call('HLEN', CURSORS)
redis.call('HLEN', KEYS[20])
redis.call('HLEN', RESULTS)
redis.call('HLEN', OWNERS)
redis.call('HLEN', KEYS[21])
redis.call('HLEN', KEYS[22])
local dying = {}
local reasons, large = {}, false -- IDs and envelopes with the reason of the deaths
for k, i in ipairs(given_up) do
  dying[k] = ids[i]
  local body = bodies[i] and with_reason(bodies[i])
  if body then reasons[#reasons + 1], reasons[#reasons + 2] = ids[i], body end
  large = large or body and #body > LARGE_BYTES
end
local past = read_expired(KEYS[16], dying)
redis.call('HLEN', KEYS[17])
redis.call('HLEN', KEYS[19])
redis.call('ZCARD', CALLERS)
redis.call('ZCARD', IDLE)
local listed = redis.call('ZCARD', UNHANDLED)

-- the groups of the jobs that die, which they do not block any more; and those of which only starts are stored that do not count any more
local tune -- writes what has changed for them, and wakes a worker if one of them may start a job
if state[5] then
  local function pieces()
    -- uses: queuelimit starts line groups tuned gate wake
    local entries = {}
    for i, entry in ipairs(#dying > 0 and redis.call('HMGET', PLACES, unpack(dying)) or {}) do entries[i] = entry or nil end
    local all = open_tuned(state[5], state[6], entries, LINE, PLACES, TURNS, GROUPS, GRULES, OPENS)
    local idle, random = {}, redis.call('HRANDFIELD', GROUPS, whole(MAX_ITEMS - #dying), 'WITHVALUES')
    for i = 1, #random, 2 do
      if match(random[i + 1], '^%-0 ') then idle[#idle + 1] = random[i] end
    end
    read_groups(all, idle, TURNS, GROUPS, GRULES)
    return function()
      for i, id in ipairs(dying) do unblock_job(all, id, entries[i]) end
      tune_groups(all, STATE, LINE, PLACES, TURNS, GROUPS, OPENS)
      if (all.opened or all.alarmed) and not state[7] then wake_one(IDLE, ARGV[8]) end
    end
  end
  tune = pieces()
end
local reports = redis.call('ZCARD', KEYS[32]) > 0
local save_counts -- counts the members of batches that die; nil: the partition has no batches
if state[8] then
  local function pieces()
    -- uses: members
    local counts, died = {}, {}
    check_members(KEYS[31], KEYS[32])
    for _, i in ipairs(given_up) do died[i] = bodies[i] end
    count_bodies(counts, died, 'dead')
    return function() save_members(counts, KEYS[31], KEYS[32], STATE) end
  end
  save_counts = pieces()
end
redis.call('ZREM', DEAD, '') -- makes the other writes possible when the server is out of memory
if #buried > 0 then
  redis.call('ZREM', DEAD, unpack(buried))
  redis.call('HDEL', JOBS, unpack(buried))
  if tune then redis.call('HDEL', PLACES, unpack(buried)) end
end
if #reasons > 0 then redis.call('HSET', JOBS, unpack(reasons)) end
if large then redis.call('HSETNX', STATE, 'large', '1') end
for _, i in ipairs(given_up) do give_up(past, ids[i], bodies[i] or definitions[i], entries[i], KEYS[lists[i]], DEAD, CRASHES) end
for i = PARKED + 1, #KEYS do save_list(KEYS[i], ARGV[i - PARKED + NAMES], UNHANDLED, STATE) end
save_expired(past, KEYS[16], KEYS[17], KEYS[19], ARGV[7])
if state[4] and state[4] ~= LAYOUT then redis.call('HSET', STATE, 'layout', LAYOUT) end -- without one the queue is not in use
if listed == 0 then
  redis.call('HDEL', STATE, 'parked')
elseif not state[2] then
  redis.call('HSET', STATE, 'parked', parked_mark()) -- it was lost, and without it no worker searches for a list
end
if #outdated > 0 then
  redis.call('ZREM', KEPT, unpack(outdated))
  redis.call('HDEL', RESULTS, unpack(outdated))
end
if #free > 0 then redis.call('ZREM', ONCE, unpack(free)) end
if #gone > 0 then redis.call('HDEL', HANDLERS, unpack(gone)) end
if not more then redis.call('HSET', STATE, 'swept', whole(now_s)) end
local tended = tonumber(state[3] or 0) or 0
local tends = not more or now_s < tended or now_s - tended >= TENDED_S
if tends then redis.call('HSET', STATE, 'tended', whole(now_s)) end
if #done > 0 then redis.call('ZREM', GONE, unpack(done)) end
if #forgotten > 0 then
  redis.call('HDEL', OWNERS, unpack(forgotten))
  redis.call('HDEL', KEYS[22], unpack(forgotten))
end
if #marked > 0 then redis.call('HDEL', KEYS[21], unpack(marked)) end
for _, name in ipairs(marked) do
  redis.call('HDEL', SCHEDULES, name)
  redis.call('HDEL', CURSORS, name)
  redis.call('HDEL', KEYS[20], name)
  redis.call('HDEL', KEYS[16], name)
  -- read after write: a death above may have added a field
  remove_fields(KEYS[17], fields_of(name, redis.call('HGET', KEYS[17], name)))
end
redis.call('ZREMRANGEBYSCORE', CALLERS, OLDEST_CALLER, whole((now_s - CALLER_S) * ROUND))
redis.call('ZREMRANGEBYSCORE', IDLE, '0', whole(now_ms - ASLEEP_MS)) -- not the gate, whose score is lower
-- the queue was deleted, and is used again, see delete_queue.lua
redis.call('PERSIST', CALLERS)
redis.call('PERSIST', IDLE)
redis.call('PERSIST', GONE)
redis.call('PERSIST', OWNERS)
if tune then tune() end
if save_counts then save_counts() end
return { whole(now_us), more and 1 or 0, unseen and 1 or 0, asked, tends and 1 or 0, owing and 1 or 0, (reports or save_counts and n_given > 0) and 1 or state[8] and 2 or 0 }
