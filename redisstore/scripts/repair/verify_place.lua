-- verify_place.lua: list the IDs in one place, a page at a time, and those among them that may be wrong there: ordinary jobs without an
-- envelope, and IDs that are also in due or dead. It writes nothing.
-- KEYS[1] …:jobs    hash  job ID -> envelope
-- KEYS[2] …:due     zset  job ID -> instant it is due, Unix ms
-- KEYS[3] …:dead    zset  job ID -> instant of its death, Unix ms
-- KEYS[4] …:stale   zset  IDs in ready that are void -> since when, Unix ms
-- KEYS[5] …:ready   list  IDs of jobs to run now
-- KEYS[6] …:purged  list  IDs of the jobs that are to be purged
-- KEYS[7] …:inflight:<session>  hash  job ID -> fence; and the field of the piece session
-- KEYS[8] …:parked:<name>       zset  job ID -> instant parked, Unix ms
-- KEYS[9] …:line                zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[10] …:purgedline         zset  likewise, to be purged
-- ARGV[1] the place: ready, line, purged, purgedline, due, dead, flight, parked; ARGV[2] the position in the list, as the last call answered; 0 begins
-- ARGV[3] 1: return what may be wrong; 0: only list
-- Returns the new position, 0 at the end; the IDs; those that may be wrong; for ready the void ones, which are not among the IDs.
local JOBS, DUE, DEAD, STALE, READY, PURGED, INFLIGHT, PARKED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local place, at, judges = ARGV[1], ARGV[2], ARGV[3] == '1'
-- uses: limits strings definition open flight session
local page, next_at, step = nil, '0', 2
if place == 'ready' or place == 'purged' then
  -- from the end of the list: changes at its front meanwhile move nothing, and after an addition at its end some entries are read again
  local seen = tonumber(at)
  if place == 'ready' then
    page = redis.call('LRANGE', READY, string.format('%d', -seen - MAX_ITEMS), string.format('%d', -seen - 1))
  else
    page = redis.call('LRANGE', PURGED, string.format('%d', -seen - MAX_ITEMS), string.format('%d', -seen - 1))
  end
  if #page == MAX_ITEMS then next_at = string.format('%d', seen + MAX_ITEMS) end
  step = 1
else
  local scanned
  if place == 'due' then
    scanned = redis.call('ZSCAN', DUE, at, 'COUNT', MAX_ITEMS)
  elseif place == 'dead' then
    scanned = redis.call('ZSCAN', DEAD, at, 'COUNT', MAX_ITEMS)
  elseif place == 'parked' then
    scanned = redis.call('ZSCAN', PARKED, at, 'COUNT', MAX_ITEMS)
  elseif place == 'line' then
    scanned = redis.call('ZSCAN', KEYS[9], at, 'COUNT', MAX_ITEMS)
  elseif place == 'purgedline' then
    scanned = redis.call('ZSCAN', KEYS[10], at, 'COUNT', MAX_ITEMS)
  else
    scanned = redis.call('HSCAN', INFLIGHT, at, 'COUNT', MAX_ITEMS)
  end
  next_at, page = scanned[1], scanned[2]
end

local ids, wrong, void = {}, {}, {}
for first = 1, #page, step * MAX_ITEMS do
  local some = {}
  for i = first, math.min(first + step * MAX_ITEMS - 1, #page), step do
    local id = page[i]
    if place == 'parked' then id = match(id, '\t(.*)$') or id end
    if place == 'line' or place == 'purgedline' then id = match(id, '\t%d+\t(.*)$') or id end
    if id ~= SELF then some[#some + 1] = id end
  end
  if #some > 0 then
    local due = judges and redis.call('ZMSCORE', DUE, unpack(some)) or {}
    local dead = judges and redis.call('ZMSCORE', DEAD, unpack(some)) or {}
    local stale = place == 'ready' and redis.call('ZMSCORE', STALE, unpack(some)) or {}
    for i, id in ipairs(some) do
      if stale[i] then
        void[#void + 1] = id
      else
        ids[#ids + 1] = id
        local elsewhere = due[i] and place ~= 'due' or dead[i] and place ~= 'dead'
        if judges and (elsewhere or not occurrence(id) and redis.call('HEXISTS', JOBS, id) == 0) then wrong[#wrong + 1] = id end
      end
    end
  end
end
return { next_at, ids, wrong, void }
