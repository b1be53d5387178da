-- repair_orphans.lua: repair schedules that cannot continue, because their data were edited by hand, evicted, or lost in a failover. A live
-- schedule is in owed, or the occurrence at its cursor is in due or in line; such a schedule is not changed.
-- KEYS[1] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[2] …:open       hash  schedule -> see lib/open.lua
-- KEYS[3] …:schedules  hash  schedule -> definition
-- KEYS[4] …:cursors    hash  schedule -> "<planned instant> <runs used> <kind>"
-- KEYS[5] …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[6] …:counters   hash
-- KEYS[7] …:state      hash  layout, groups
-- KEYS[8] …:line       zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[9] …:places     hash  job ID -> "<place> <group>"
-- KEYS[10] …:purgedline  zset  likewise: the former line of a purge, which returns occurrences
-- ARGV the names of the schedules
-- Returns a list of those that this call has not checked, because the definitions of the others are long; then two values for each
-- repaired schedule: name, and what was wrong with it:
--   held    it waited for the end of a flight that does not exist
--   due     the occurrence at its cursor, which is in the future, was not in due: it is placed again
--   owed    it was not in owed, and the occurrence at its cursor was taken, or is lost: the one after it is placed
--   cursor  its cursor was gone or cannot be read: it continues from now, and has used as many runs as have started
local OWED, OPEN, SCHEDULES, CURSORS, DUE, COUNTERS, STATE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
-- uses: limits clock layout instant seconds counters definition owed open bars withdraw standing line
local state = redis.call('HMGET', STATE, 'layout', 'groups')
local refusal = newer(state[1])
if refusal then return refusal end
local names = ARGV
local owed = redis.call('ZMSCORE', OWED, unpack(names))
local cursors = redis.call('HMGET', CURSORS, unpack(names))

-- suspects: positions of the names that may be orphaned, unless they are paused, completed or moved; ids: of the occurrences at their cursors
local held, suspects, placed, ids = {}, {}, {}, {}
for i, name in ipairs(names) do
  local at, _, kind = readable(cursors[i])
  if owed[i] and cursors[i] and not at then
    suspects[#suspects + 1] = i
  elseif owed[i] then
    if (tonumber(owed[i]) or 0) >= HELD then held[#held + 1] = i end
  elseif is_placed(kind) then
    placed[#placed + 1], ids[#ids + 1] = i, name .. '@' .. at
  else
    suspects[#suspects + 1] = i
  end
end
local due = #ids > 0 and redis.call('ZMSCORE', DUE, unpack(ids)) or {}
local lined = { find_grouped(state[2], KEYS[9], KEYS[8], ids).members, find_grouped(state[2], KEYS[9], KEYS[10], ids).members }
for k, i in ipairs(placed) do
  if not due[k] and not lined[1][k] and not lined[2][k] then suspects[#suspects + 1] = i end
end

local left, bytes = {}, 0
local answer, owes, moved, lost = { left }, {}, {}, {} -- lost: whose cursors are removed
local function go_on(name, since, what)
  owes[#owes + 1], owes[#owes + 2] = whole(since), name
  answer[#answer + 1], answer[#answer + 2] = name, what
end
for _, i in ipairs(held) do
  local name = names[i]
  if not bars(redis.call('HGET', OPEN, name)) then go_on(name, math.min(owed_since(owed[i]), now_ms), 'held') end
end
local now = instant(now_s)
for k, i in ipairs(suspects) do
  local name, text = names[i], nil
  bytes = bytes + redis.call('HSTRLEN', SCHEDULES, name)
  if k > 1 and bytes > CALL_BYTES then
    left[#left + 1] = name
  else
    text = redis.call('HGET', SCHEDULES, name)
  end
  if policy(text) == 'live' then
    local at, used, kind = readable(cursors[i])
    local what, since = 'owed', math.min(owed_since(owed[i]) or now_ms, now_ms)
    if not at then
      local started = tonumber(redis.call('HGET', COUNTERS, name .. STARTED) or 0) or 0
      what, at, used = 'cursor', now, math.max(started, 0)
      moved[#moved + 1], moved[#moved + 2] = name, at .. ' ' .. whole(used) .. ' s'
    elseif is_placed(kind) and (seconds(at) or 0) * 1000 + offset_of(text) > now_ms then
      what = 'due' -- like the withdrawal by a change: a worker does not take what is not due
      local _, created = policy(text)
      local back = withdrawn(at, math.max(used - 1, 0), created)
      if back == '' then lost[#lost + 1] = name else moved[#moved + 1], moved[#moved + 2] = name, back end
    end
    go_on(name, since, what)
  end
end
if #owes > 0 then redis.call('ZADD', OWED, unpack(owes)) end
if #moved > 0 then redis.call('HSET', CURSORS, unpack(moved)) end
if #lost > 0 then redis.call('HDEL', CURSORS, unpack(lost)) end
return answer
