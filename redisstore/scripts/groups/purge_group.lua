-- purge_group.lua: delete the jobs of a group that wait, at most 500, except occurrences, which belong to their schedules. Jobs that join the group after the purge has begun have later places, and remain.
-- KEYS[1]  …:state    hash  layout, groups, grules, batches
-- KEYS[2]  …:jobs     hash  job ID -> envelope
-- KEYS[3]  …:crashes  hash  job ID -> times its holder vanished
-- KEYS[4]  …:line     zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now
-- KEYS[5]  …:places   hash  job ID -> "<place> <group>"
-- KEYS[6]  …:turns    zset  "<tag>\t<group>" -> flights / weight
-- KEYS[7]  …:groups   hash  group -> its flights, its tag, its starts, its blocker
-- KEYS[8]  …:grules   hash  group, or \1* -> rule and pause
-- KEYS[9]  …:opens    zset  group -> instant of its next start, Unix ms
-- KEYS[10] …:once     zset  job ID -> until when it is not added again, Unix ms
-- KEYS[11] …:results  hash  job ID -> the result of an earlier job of that ID, which would be mistaken for the deleted one's
-- KEYS[12] …:kept     zset  job ID -> until when its result is kept, Unix ms
-- KEYS[13] …:callers  zset  completed calls, see lib/closed.lua
-- KEYS[14] …:batches  hash  batch -> its counts, see lib/members.lua
-- KEYS[15] …:reports  zset  batch -> instant from which its counts are to be reported, Unix ms
-- ARGV[1] a unique name of this call; ARGV[2] the group; ARGV[3] the last place of a job to delete; ARGV[4] the member of line after which
-- it begins, as the last step answered; empty: at the first one
-- Returns time (us); how many jobs were deleted; 1 if more are left, else 0; the member after which the next step begins.
local STATE, JOBS, CRASHES, LINE, PLACES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local TURNS, GROUPS, GRULES, OPENS, CALLERS = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[13]
local group, last = ARGV[2], ARGV[3]
-- uses: limits callers clock layout closed forget queuelimit starts line groups
local state = redis.call('HMGET', STATE, 'layout', 'groups', 'grules', 'batches')
local refusal = newer(state[1])
if refusal then return refusal end
local from, to = ARGV[4] == '' and '[' .. group .. '\t' or '(' .. ARGV[4], '(' .. group .. '\t' .. last .. '\n'
local page = redis.call('ZRANGEBYLEX', LINE, from, to, 'LIMIT', '0', whole(MAX_ITEMS + 1))
local more = #page > MAX_ITEMS and 1 or 0
local before = answered(CALLERS, ARGV[1])
if before then return { whole(now_us), before, #page > 0 and 1 or 0, ARGV[4] } end
page[MAX_ITEMS + 1] = nil
local bytes = 0 -- of the envelopes that the call reads, because of their batches
for i = 1, state[4] and #page or 0 do
  bytes = bytes + redis.call('HSTRLEN', JOBS, string.match(page[i], '[^\t]*$'))
  if bytes > CALL_BYTES and i > 1 then
    for k = #page, i, -1 do page[k] = nil end
    more = 1
    break
  end
end
local last_member, members, ids = page[#page] or ARGV[4], {}, {}
for _, member in ipairs(page) do
  local id = string.match(member, '[^\t]*$')
  if not is_occurrence(id) then members[#members + 1], ids[#ids + 1] = member, id end
end
if #ids == 0 then return { whole(now_us), 0, more, last_member } end
local all = open_groups(state[2], state[3])
read_groups(all, { group }, TURNS, GROUPS, GRULES)
for _, id in ipairs(ids) do unblock(all.of[group], id) end
check_groups(LINE, PLACES, TURNS, GROUPS, OPENS)
redis.call('HLEN', JOBS)
redis.call('HLEN', CRASHES)
redis.call('ZCARD', KEYS[10])
redis.call('HLEN', KEYS[11])
redis.call('ZCARD', KEYS[12])
local save_counts -- counts the members of batches; nil: the partition has no batches
if state[4] then
  local function pieces()
    -- uses: members
    local counts = {}
    check_members(KEYS[14], KEYS[15])
    count_bodies(counts, redis.call('HMGET', JOBS, unpack(ids)), 'cancelled')
    return function() save_members(counts, KEYS[14], KEYS[15], STATE) end
  end
  save_counts = pieces()
end

redis.call('ZREM', LINE, unpack(members))
redis.call('HDEL', PLACES, unpack(ids))
local deleted = redis.call('HDEL', JOBS, unpack(ids))
redis.call('HDEL', CRASHES, unpack(ids))
forget_ids(ids, KEYS[10], KEYS[11], KEYS[12])
tune_groups(all, STATE, LINE, PLACES, TURNS, GROUPS, OPENS)
if save_counts then save_counts() end
remember_closed(CALLERS, ARGV[1], deleted)
return { whole(now_us), deleted, more, last_member }
