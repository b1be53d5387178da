-- verify_groups.lua: list what is wrong with jobs of groups, a page at a time, and repair members of line if requested; lib/line.lua lists what holds.
-- KEYS[1] …:state   hash  layout, groups, grules, paused, limit
-- KEYS[2] …:line    zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now
-- KEYS[3] …:places  hash  job ID -> "<place> <group>"
-- KEYS[4] …:jobs    hash  job ID -> envelope
-- KEYS[5] …:turns   zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[6] …:groups  hash  group -> its flights, its tag, its starts, its blocker
-- KEYS[7] …:grules  hash  group -> its rule and pause
-- KEYS[8] …:opens   zset  group -> instant of its next start, Unix ms
-- KEYS[9] …:idle    zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[10] …:ready  list  IDs of jobs to run now
-- KEYS[11] …:due    zset  job ID -> instant it is due, Unix ms
-- ARGV[1] line: members that do not match the entry of their job in places; places: IDs of entries that cannot be read, or whose job does not exist
-- ARGV[2] the position in the list, as the last call answered; 0 begins; empty: no list, but ARGV[4...], members of line to repair;
-- then ARGV[3] is the prefix of the wake-up channels
-- Returns the new position, 0 at the end; then the wrong ones; for line two values each: the member, and what a repair does:
--   entry   its job has no entry that can be read, but an envelope: the entry is restored from the member
--   member  the member is removed. If its job is then in no list, verify_job.lua finds it
local STATE, LINE, PLACES, JOBS = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local TURNS, GROUPS, GRULES, OPENS = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local IDLE, READY, DUE = KEYS[9], KEYS[10], KEYS[11]
-- uses: limits clock layout strings gate wake alarm due queuelimit waiting starts line groups tuned entry repaired
local state = redis.call('HMGET', STATE, 'layout', 'groups', 'grules', 'paused', 'limit')
local refusal = newer(state[1])
if refusal then return refusal end
local page, step, next_at = {}, 2, '0'
if ARGV[2] == '' then
  step = 1
  for i = 4, #ARGV do page[i - 3] = ARGV[i] end
else
  local scanned
  if ARGV[1] == 'line' then
    scanned = redis.call('ZSCAN', LINE, ARGV[2], 'COUNT', MAX_ITEMS)
  else
    scanned = redis.call('HSCAN', PLACES, ARGV[2], 'COUNT', MAX_ITEMS)
  end
  next_at, page = scanned[1], scanned[2]
end

local answer = { next_at }
if ARGV[1] == 'places' then
  for i = 1, #page, step do
    -- an occurrence may have no envelope: verify_job.lua looks where it is
    local id = page[i]
    local gone = redis.call('HEXISTS', JOBS, id) == 0
    if gone or not is_entry(page[i + 1]) then answer[#answer + 1] = id end
  end
  return answer
end

local removed, restored, seen, entries = {}, {}, {}, {} -- restored: pairs for HSET; entries: of places, for the groups that change
for i = 1, #page, step do
  local member = page[i]
  local group, place, id = match(member, '^([^\t]+)\t(%d+)\t([^\t]+)$')
  local sound = group and is_entry(place .. ' ' .. group)
  local entry = sound and redis.call('HGET', PLACES, id)
  local what
  if step == 1 and not redis.call('ZSCORE', LINE, member) then
    what = nil -- it has left meanwhile
  elseif not sound or entry and is_entry(entry) and line_member(id, entry) ~= member or seen[id] then
    what, removed[#removed + 1] = 'member', member
  elseif not entry or not is_entry(entry) then
    if redis.call('HEXISTS', JOBS, id) == 1 or is_occurrence(id) then
      what, seen[id] = 'entry', true
      restored[#restored + 1], restored[#restored + 2] = id, place .. ' ' .. group
    else
      what, removed[#removed + 1] = 'member', member
    end
  end
  if what then
    answer[#answer + 1], answer[#answer + 2] = member, what
    entries[#entries + 1] = place and place .. ' ' .. group
  end
end
if ARGV[2] ~= '' then return answer end
local all = open_tuned(state[2], state[3], entries, LINE, PLACES, TURNS, GROUPS, GRULES, OPENS)
redis.call('ZCARD', IDLE)
redis.call('LLEN', READY)
redis.call('ZCARD', DUE)
if #removed > 0 then redis.call('ZREM', LINE, unpack(removed)) end
if #restored > 0 then redis.call('HSET', PLACES, unpack(restored)) end
tune_groups(all, STATE, LINE, PLACES, TURNS, GROUPS, OPENS)
if all.opened or all.alarmed then wake_repaired(state[4], state[5], state[2], ARGV[3], IDLE, READY, DUE, TURNS, OPENS) end
return answer
