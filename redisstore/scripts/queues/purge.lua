-- purge.lua: delete the next jobs that are to be purged, at most 500; see purge_begin.lua for what holds meanwhile.
-- KEYS[1]  …:state      hash  layout, purge, groups, grules, batches
-- KEYS[2]  …:purged     list  IDs of the jobs that are to be purged
-- KEYS[3]  …:spared     zset  those among them that were void
-- KEYS[4]  …:ready      list  IDs of jobs to run now
-- KEYS[5]  …:jobs       hash  job ID -> envelope
-- KEYS[6]  …:crashes    hash  job ID -> times its holder vanished
-- KEYS[7]  …:open       hash  schedule -> see lib/open.lua
-- KEYS[8]  …:behind     zset  "<schedule>\t<planned instant>" -> 0: occurrences behind the one in open
-- KEYS[9]  …:schedules  hash  schedule -> definition
-- KEYS[10] …:cursors    hash  schedule -> cursor
-- KEYS[11] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[12] …:callers    zset  completed calls, see lib/closed.lua
-- KEYS[13] …:idle       zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[14] …:once       zset  job ID -> until when it is not added again, Unix ms
-- KEYS[15] …:last       hash  schedule -> its last outcome, see lib/history.lua; its manual runs, see lib/manual.lua
-- KEYS[16] …:results    hash  job ID -> the result of an earlier job of that ID, which would be mistaken for the deleted one's
-- KEYS[17] …:kept       zset  job ID -> until when its result is kept, Unix ms
-- KEYS[18] …:purgedline  zset  "<group>\t<place>\t<job ID>" -> 0: the jobs of groups that are to be purged
-- KEYS[19] …:places     hash  job ID -> "<place> <group>"
-- KEYS[20] …:line  zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[21] …:turns  zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[22] …:groups  hash  group -> its flights, tag and starts
-- KEYS[23] …:grules  hash  group -> its rule and pause
-- KEYS[24] …:opens  zset  group -> instant of its next start, Unix ms
-- KEYS[25] …:batches  hash  batch -> its counts, see lib/members.lua
-- KEYS[26] …:reports  zset  batch -> instant from which its counts are to be reported, Unix ms
-- ARGV[1] a unique name of this call; ARGV[2] prefix of the wake-up channels
-- Returns time (us); how many IDs left the list or the set; how many jobs were deleted; 1 if more are left, else 0.
local STATE, PURGED, SPARED, READY, JOBS, CRASHES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local OPEN, BEHIND, SCHEDULES, CURSORS, OWED, CALLERS, IDLE = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13]
local ONCE, LAST, RESULTS, KEPT = KEYS[14], KEYS[15], KEYS[16], KEYS[17]
local LINE, TURNS, GROUPS, GRULES, OPENS = KEYS[20], KEYS[21], KEYS[22], KEYS[23], KEYS[24]
local TOGETHER = 4 -- occurrences of one schedule that a call ends: the number of known ones in behind
local BOTH = 1024 -- both counts, which are lower, are stored as one number
-- uses: limits callers clock layout seconds strings definition owed open flight closed gate wake history manual forget line queuelimit starts groups tuned
local state = redis.call('HMGET', STATE, 'layout', 'groups', 'grules', 'batches')
local refusal = newer(state[1])
if refusal then return refusal end
local left = redis.call('LLEN', PURGED) + redis.call('ZCARD', KEYS[18])
local before = answered(CALLERS, ARGV[1])
if before then return { whole(now_us), math.floor(before / BOTH), before % BOTH, left > 0 and 1 or 0 } end

local page = redis.call('LRANGE', PURGED, '0', whole(MAX_ITEMS - 1))
local reads = state[4] and 0 -- the bytes of the envelopes that the call reads, because of their batches; nil: none
local void = #page > 0 and redis.call('ZMSCORE', SPARED, unpack(page)) or {}
local ids, names, count_of, ended, looked = {}, {}, {}, {}, 0 -- ended: occurrences
for i, id in ipairs(page) do
  local name = occurrence(id)
  if reads then
    reads = reads + redis.call('HSTRLEN', JOBS, id)
    if reads > CALL_BYTES and i > 1 then break end
  end
  if name and not void[i] then
    count_of[name] = (count_of[name] or 0) + 1
    if count_of[name] > TOGETHER then break end
    if count_of[name] == 1 then names[#names + 1] = name end
    ended[#ended + 1] = id
  end
  if not void[i] then ids[#ids + 1] = id end
  looked = i
end
local lined, grouped = {}, {} -- the members of purgedline that leave it, and the IDs of the jobs that leave places
if looked == #page and #page < MAX_ITEMS then lined = redis.call('ZRANGE', KEYS[18], '0', whole(MAX_ITEMS - #page - 1)) end
local returns = {} -- members of occurrences: they belong to their schedules, as those in due do, and return to line
local occurs = {}
for i = 1, #lined do
  local id = match(lined[i], '[^\t]*$')
  reads = reads and reads + redis.call('HSTRLEN', JOBS, id)
  if reads and reads > CALL_BYTES and i > 1 then
    for k = #lined, i, -1 do lined[k] = nil end
    break
  end
  if occurrence(id) then
    returns[#returns + 1], returns[#returns + 2] = '0', lined[i]
    occurs[#occurs + 1] = lined[i]
  else
    grouped[#grouped + 1] = id
    ids[#ids + 1] = id
  end
end
for _, id in ipairs(ended) do grouped[#grouped + 1] = id end -- occurrences in ready may belong to groups
redis.call('HLEN', KEYS[19])
local entries = {}
for i, id in ipairs(#grouped > 0 and redis.call('HMGET', KEYS[19], unpack(grouped)) or {}) do entries[i] = id or nil end
for i, member in ipairs(occurs) do entries[#grouped + i] = '0 ' .. match(member, '^([^\t]*)') end
local all = state[2] and open_tuned(state[2], state[3], entries, LINE, KEYS[19], TURNS, GROUPS, GRULES, OPENS)
local flights, front = read_flights(OPEN, BEHIND, SCHEDULES, CURSORS, names, {}), {}
local owes = #names > 0 and redis.call('ZMSCORE', OWED, unpack(names)) or {}
local past = read_past(LAST, names)
read_manual(past, LAST, ids)
redis.call('LLEN', READY)
redis.call('HLEN', JOBS)
redis.call('HLEN', CRASHES)
redis.call('ZCARD', IDLE)
redis.call('ZCARD', ONCE)
redis.call('HLEN', RESULTS)
redis.call('ZCARD', KEPT)
for _, id in ipairs(ended) do
  local name, planned = occurrence(id)
  local open_id, _, _, _, _, fresh = opened(flights.opens[name])
  if not (open_id == id and fresh == planned) then add_unfinished(past, name, planned, -1) end -- it was taken before
  end_flight(flights, front, name, id, 'final')
end
for _, id in ipairs(ids) do end_manual(past, id) end

local save_counts -- counts the members of batches; nil: the partition has no batches
if reads and #ids > 0 then
  local function pieces()
    -- uses: members
    local counts = {}
    check_members(KEYS[25], KEYS[26])
    count_bodies(counts, redis.call('HMGET', JOBS, unpack(ids)), 'cancelled')
    return function() save_members(counts, KEYS[25], KEYS[26], STATE) end
  end
  save_counts = pieces()
end
redis.call('ZREM', SPARED, '') -- makes the other writes possible when the server is out of memory
local deleted = #ended
if looked > 0 then
  redis.call('LTRIM', PURGED, whole(looked), '-1')
  redis.call('ZREM', SPARED, unpack(page, 1, looked))
end
if #ids > 0 then
  local is_ended = {}
  for _, id in ipairs(ended) do is_ended[id] = true end
  local ordinary = {}
  for _, id in ipairs(ids) do
    if not is_ended[id] then ordinary[#ordinary + 1] = id end
  end
  if #ordinary > 0 then deleted = deleted + redis.call('HDEL', JOBS, unpack(ordinary)) end
  if #ended > 0 then redis.call('HDEL', JOBS, unpack(ended)) end
  redis.call('HDEL', CRASHES, unpack(ids))
  forget_ids(ids, ONCE, RESULTS, KEPT)
end
if save_counts then save_counts() end
leave_line(KEYS[19], KEYS[18], lined, grouped)
if #returns > 0 then redis.call('ZADD', LINE, unpack(returns)) end
if all then
  for i, id in ipairs(grouped) do unblock_job(all, id, entries[i]) end
  tune_groups(all, STATE, LINE, KEYS[19], TURNS, GROUPS, OPENS)
end
if left == looked + #lined then
  redis.call('DEL', SPARED)
  redis.call('HDEL', STATE, 'purge')
end
save_manual(past, LAST)
save_last(past, LAST)
save_flights(flights, OPEN, BEHIND)
for i, name in ipairs(names) do
  -- a schedule that catches up: a ticker places the next run, because this flight has ended
  if flights.freed[name] and owes[i] then redis.call('ZADD', OWED, whole(owed_since(owes[i])), name) end
end
push_front(READY, front)
looked = looked + #lined
if looked > 0 then remember_closed(CALLERS, ARGV[1], looked * BOTH + deleted) end
if #front > 0 or all and (all.opened or all.alarmed) then wake_one(IDLE, ARGV[2]) end
return { whole(now_us), looked, deleted, left > looked and 1 or 0 }
