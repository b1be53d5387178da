-- delete_waiting.lua: delete jobs of a deleted schedule that do not run, a step of about 500 items: occurrences, manual runs,
-- and jobs that follow the death of either. Their IDs in ready remain without
-- bodies: the take drops an occurrence with neither body nor definition, and releases what waits for its end; the others are void. For the same reason an
-- occurrence in line goes to ready: there it waits for no turn.
-- KEYS[1]  …:due             zset  job ID -> instant it is due, Unix ms
-- KEYS[2]  …:dead            zset  job ID -> instant of its death, Unix ms
-- KEYS[3]  …:ready           list  IDs of jobs to run now
-- KEYS[4]  …:jobs            hash  job ID -> envelope
-- KEYS[5]  …:crashes         hash  job ID -> times its holder vanished
-- KEYS[6]  …:behind          zset  "<schedule>\t<planned instant>" -> 0: occurrences behind the one in open
-- KEYS[7]  …:schedules       hash  schedule -> definition
-- KEYS[8]  …:state           hash  parked, layout, stale, groups, grules, paused
-- KEYS[9]  …:unhandled       zset  job name -> since when it has parked jobs, Unix ms
-- KEYS[10] …:parked:<name>   zset  job ID -> instant parked, Unix ms
-- KEYS[11] …:stale           zset  IDs in ready that are void -> since when, Unix ms; see lib/stale.lua
-- KEYS[12] …:last            hash  its manual runs, see lib/manual.lua; nothing counts them any more
-- KEYS[13] …:once            zset  job ID -> until when it is not added again, Unix ms
-- KEYS[14] …:results         hash  job ID -> its result: left by an earlier job of that ID
-- KEYS[15] …:kept            zset  job ID -> until when its result is kept, Unix ms
-- KEYS[16] …:line            zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[17] …:places          hash  job ID -> "<place> <group>"
-- KEYS[18] …:turns  zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[19] …:groups  hash  group -> its flights, tag and starts
-- KEYS[20] …:grules  hash  group -> its rule and pause
-- KEYS[21] …:opens  zset  group -> instant of its next start, Unix ms
-- KEYS[22] …:idle   zset  sleeping worker -> instant it went to sleep, Unix ms
-- ARGV[1] schedule; ARGV[2] the place: behind, due, dead, parked, line or ready; ARGV[3] the position in it, as the last step answered; 0 begins;
-- ARGV[4] the name of the parked list; ARGV[5] prefix of the wake-up channels
-- Returns the new position, 0 at the end; how many it has deleted.
local DUE, DEAD, READY, JOBS, CRASHES, BEHIND, SCHEDULES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local STATE, UNHANDLED, PARKED, STALE = KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local name, place, at = ARGV[1], ARGV[2], ARGV[3]
-- uses: limits clock layout strings definition envelope open flight parked forget line queuelimit starts groups tuned gate wake
local layout = redis.call('HGET', STATE, 'layout')
local refusal = newer(layout)
if refusal then return refusal end
local _, created = policy(redis.call('HGET', SCHEDULES, name)) -- of a schedule that was created again meanwhile, whose jobs remain
redis.call('HLEN', JOBS)
redis.call('HLEN', CRASHES)
redis.call('ZCARD', UNHANDLED)
redis.call('ZCARD', STALE)
redis.call('LLEN', READY)
local state = redis.call('HMGET', STATE, 'groups', 'grules', 'paused')
redis.call('ZCARD', KEYS[22])
redis.call('ZCARD', KEYS[16])
redis.call('HLEN', KEYS[17])
redis.call('HLEN', KEYS[12])
redis.call('ZCARD', KEYS[13])
redis.call('HLEN', KEYS[14])
redis.call('ZCARD', KEYS[15])

-- is_its reports whether a job belongs to the deleted schedule. The envelope of a job that is not an occurrence names its schedule. If the
-- schedule was created again, it is unknown to which of the two the job belongs, and it remains.
local function is_its(id)
  local schedule, planned = occurrence(id)
  if schedule then return schedule == name and (not created or created_later(created, planned)) end
  if created or sub(id, 1, #name) ~= name or not find(id, '#', #name + 1, true) then return false end
  return schedule_in(redis.call('HGET', JOBS, id)) == name
end

local ids, members, void, next_at = {}, {}, {}, '0' -- void: those that are in ready and are not occurrences

-- look collects the schedule's jobs from members of a sorted set and their scores.
local function look(page)
  next_at = page[1]
  for i = 1, #page[2], 2 do
    local member = page[2][i]
    local id = match(member, '[^\t]*$') -- the last part of an entry of line, and of the shared list of parked jobs
    if is_its(id) then
      ids[#ids + 1] = id
      members[#members + 1] = member
    end
  end
end

if place == 'behind' then
  for _, member in ipairs(redis.call('ZRANGEBYLEX', BEHIND, '[' .. name .. '\t', '(' .. name .. '\n', 'LIMIT', '0', whole(MAX_ITEMS))) do
    local id = name .. '@' .. match(sub(member, #name + 2), '%d.*')
    if is_its(id) then
      ids[#ids + 1] = id
      members[#members + 1] = member
    end
  end
  if #members == MAX_ITEMS then next_at = '1' end
elseif place == 'due' then
  look(redis.call('ZSCAN', DUE, at, 'COUNT', MAX_ITEMS))
elseif place == 'dead' then
  look(redis.call('ZSCAN', DEAD, at, 'COUNT', MAX_ITEMS))
elseif place == 'parked' then
  look(redis.call('ZSCAN', PARKED, at, 'COUNT', MAX_ITEMS))
elseif place == 'line' then
  look(redis.call('ZSCAN', KEYS[16], at, 'COUNT', MAX_ITEMS))
else -- from the end of the list, so that takes and additions at the front meanwhile move nothing
  local seen = tonumber(at)
  local page = redis.call('LRANGE', READY, whole(-seen - MAX_ITEMS), whole(-seen - 1))
  local was_void = #page > 0 and redis.call('ZMSCORE', STALE, unpack(page)) or {}
  for i, id in ipairs(page) do
    if not was_void[i] and is_its(id) then -- a void ID here that has an envelope is due later
      ids[#ids + 1] = id
      if not occurrence(id) then void[#void + 1], void[#void + 2] = whole(now_ms) .. '.5', id end
    end
  end
  if #page == MAX_ITEMS then next_at = whole(seen + MAX_ITEMS) end
end

if place == 'due' and #ids > 0 then -- the place in ready of an earlier job, which was cancelled, is shown as that of these
  for i, since in ipairs(redis.call('ZMSCORE', STALE, unpack(ids))) do
    if since then void[#void + 1], void[#void + 2] = whole(now_ms) .. '.5', ids[i] end
  end
end

local dropped, revived = {}, {} -- occurrences that leave line: they join ready, or are void there and valid again
for i, id in ipairs(place == 'line' and ids or {}) do
  if occurrence(id) then
    local list = redis.call('ZSCORE', STALE, id) and revived or dropped
    list[#list + 1] = id
  end
end

local entries, all = {}, nil
if state[1] or place == 'line' then
  for i, entry in ipairs(#ids > 0 and redis.call('HMGET', KEYS[17], unpack(ids)) or {}) do entries[i] = entry or nil end
  all = open_tuned(state[1], state[2], entries, KEYS[16], KEYS[17], KEYS[18], KEYS[19], KEYS[20], KEYS[21])
end
redis.call('ZREM', STALE, '', unpack(revived)) -- makes the other writes possible when the server is out of memory
if #dropped > 0 then redis.call('RPUSH', READY, unpack(dropped)) end
if #void > 0 then
  redis.call('ZADD', STALE, unpack(void))
  redis.call('HSET', STATE, 'stale', '1')
  if layout ~= LAYOUT then redis.call('HSET', STATE, 'layout', LAYOUT) end
end
for i, id in ipairs(ids) do
  local member = members[i]
  if place == 'behind' then redis.call('ZREM', BEHIND, member) end
  if place == 'due' then redis.call('ZREM', DUE, member) end
  if place == 'dead' then redis.call('ZREM', DEAD, member) end
  if place == 'parked' then redis.call('ZREM', PARKED, member) end
  redis.call('HDEL', JOBS, id)
  redis.call('HDEL', CRASHES, id)
  redis.call('HDEL', KEYS[12], '\t' .. id)
end
if all then
  leave_line(KEYS[17], KEYS[16], place == 'line' and members or {}, ids)
  for i, id in ipairs(ids) do unblock_job(all, id, entries[i]) end
  tune_groups(all, STATE, KEYS[16], KEYS[17], KEYS[18], KEYS[19], KEYS[21])
end
forget_ids(ids, KEYS[13], KEYS[14], KEYS[15])
-- read after write: the rest of the list is known only now
if place == 'parked' and #ids > 0 and redis.call('ZCARD', PARKED) == 0 then unlist(UNHANDLED, STATE, ARGV[4]) end
if (#dropped > 0 or all and (all.opened or all.alarmed)) and not state[3] then wake_one(KEYS[22], ARGV[5]) end
return { next_at, #ids }
