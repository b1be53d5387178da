-- verify_state.lua: compare the fields of …:state with what they describe, and repair them if requested.
-- KEYS[1] …:state      hash  layout, paused, limit, parked, stale, crashed, purge, groups
-- KEYS[2] …:idle       zset  sleeping worker -> instant it went to sleep, Unix ms; see lib/gate.lua
-- KEYS[3] …:stale      zset  IDs in ready that are void -> since when, Unix ms
-- KEYS[4] …:unhandled  zset  job name -> since when it has parked jobs, Unix ms
-- KEYS[5] …:crashes    hash  job ID -> times its holder vanished
-- KEYS[6] …:purged     list  the former ready of a purge that has not ended
-- KEYS[7] …:sessions   zset  session -> instant it lapses, Unix ms
-- KEYS[8] …:places     hash  job ID -> its place and its group, see lib/line.lua
-- KEYS[9] …:purgedline  zset  the former line of a purge that has not ended
-- KEYS[10] …:turns     zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[11] …:groups    hash  group -> its flights, tag and starts
-- KEYS[12] …:opens     zset  group -> instant of its next start, Unix ms
-- KEYS[13] …:ready     list  IDs of jobs to run now
-- KEYS[14] …:due       zset  job ID -> instant it is due, Unix ms
-- KEYS[15...] …:inflight:<session>  hash  job ID -> fence; and the field of the piece session
-- ARGV[1] 1: repair, 0: look; ARGV[2] prefix of the wake-up channels; ARGV[3...] the sessions of KEYS[15...]
-- Returns 0 if there is a session that the caller does not name, and then nothing is done; else 1; then the present or repaired faults:
--   parked, stale, crashed, purge, groups  the field is missing, but what it describes exists; groups: or its sums are wrong; stale: or the layout is too low for it
--   gate   the gate is open although the queue is paused or has a limit, or closed although it is not and has none
--   unreadable  the field limit cannot be read: no job of the queue is taken
--   limit  "limit <counted> <held>": the counted flights, and the actual ones; limit_queue.lua recounts them
local STATE, IDLE, STALE, UNHANDLED, CRASHES, PURGED, SESSIONS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local INFLIGHT, NAMES = 14, 2 -- the hashes come behind KEYS[14], the names of their sessions behind ARGV[2]
local MAX_SUMMED = 5000 -- groups; of more the sums are not compared
local repairs = ARGV[1] == '1'
-- uses: limits clock layout gate session wake alarm due queuelimit waiting parked repaired
local state = redis.call('HMGET', STATE, 'layout', 'paused', 'limit', 'parked', 'stale', 'crashed', 'purge', 'groups')
local refusal = newer(state[1])
if refusal then return refusal end
local void, closed = redis.call('ZCARD', STALE), redis.call('ZSCORE', IDLE, CLOSED)

local answer = { 1 }
local function wrong(what) answer[#answer + 1] = what end
local unparked = not state[4] and redis.call('ZCARD', UNHANDLED) > 0
local unstale = void > 0 and not state[5]
local uncrashed = not state[6] and redis.call('HLEN', CRASHES) > 0
local unpurged = not state[7] and redis.call('LLEN', PURGED) + redis.call('ZCARD', KEYS[9]) > 0
-- the field groups: the sums of what is in turns; if it cannot be read, its virtual time is the least tag there
local turns, virtual, sums = redis.call('ZCARD', KEYS[10]), string.rep('0', 22), { 0, 0 }
local ungrouped = not state[8] and redis.call('HLEN', KEYS[8]) + redis.call('HLEN', KEYS[11]) > 0
if (state[8] or ungrouped) and turns <= MAX_SUMMED then
  local members, least = redis.call('ZRANGE', KEYS[10], '0', whole(MAX_SUMMED)), nil
  for first = 1, #members, MAX_ITEMS do
    local names = {}
    for i = first, math.min(first + MAX_ITEMS - 1, #members) do
      local tag, name = string.match(members[i], '^(%d+)\t(.+)$')
      names[#names + 1] = name
      if tag and (not least or tag < least) then least = tag end
    end
    for _, text in ipairs(#names > 0 and redis.call('HMGET', KEYS[11], unpack(names)) or {}) do
      local flights, weight = string.match(text or '', '^t(%d+) (%d+) ')
      sums[1], sums[2] = sums[1] + tonumber(weight or 0), sums[2] + tonumber(flights or 0)
    end
  end
  local stored, w, f = string.match(state[8] or '', '^(%d+) (%d+) (%d+) %d+ %d+$')
  if least then virtual = string.sub(least, 1, 22) end
  if stored and #stored == 22 then virtual = stored end
  ungrouped = ungrouped or tonumber(w) ~= sums[1] or tonumber(f) ~= sums[2]
end
local shut = state[2] or state[3]
local ajar = (shut and true or false) ~= (closed and true or false)
if not shut and tonumber(closed or 0) == tonumber(DELETED) then ajar = false end -- enqueue.lua opens it
local limit = read_limit(state[3])
if limit and limit.unreadable then
  wrong('unreadable')
elseif limit then
  local known, flights = 0, 0
  for first = NAMES + 1, #ARGV, MAX_ITEMS do
    for i, lapse in ipairs(redis.call('ZMSCORE', SESSIONS, unpack(ARGV, first, math.min(first + MAX_ITEMS - 1, #ARGV)))) do
      if lapse then
        local at = INFLIGHT + first - NAMES + i - 1
        known = known + 1
        flights = flights + redis.call('HLEN', KEYS[at]) - redis.call('HEXISTS', KEYS[at], SELF)
      end
    end
  end
  if known < redis.call('ZCARD', SESSIONS) then return { 0 } end
  if flights ~= limit.flights then wrong('limit ' .. whole(limit.flights) .. ' ' .. whole(flights)) end
end
if unparked then wrong('parked') end
if unstale then wrong('stale') end
if uncrashed then wrong('crashed') end
if unpurged then wrong('purge') end
if ungrouped then wrong('groups') end
if ajar then wrong('gate') end
if not repairs then return answer end
redis.call('ZCARD', KEYS[12])
redis.call('LLEN', KEYS[13])
redis.call('ZCARD', KEYS[14])

if unparked then redis.call('HSET', STATE, 'parked', parked_mark()) end
if unstale then redis.call('HSET', STATE, 'stale', '1') end
if uncrashed then redis.call('HSET', STATE, 'crashed', '1') end
if unpurged then redis.call('HSET', STATE, 'purge', whole(now_ms)) end
if ungrouped then
  local drawn = string.match(state[8] or '', '( %d+ %d+)$') or ' 1000000000000000 0' -- of lib/groups.lua, which draws others from the clock
  redis.call('HSET', STATE, 'groups', virtual .. ' ' .. whole(sums[1]) .. ' ' .. whole(sums[2]) .. drawn)
  if not state[8] then wake_repaired(state[2], state[3], nil, ARGV[2], IDLE, KEYS[13], KEYS[14], KEYS[10], KEYS[12]) end -- takes have not read groups until now
end
if ajar and shut then redis.call('ZADD', IDLE, '-1', CLOSED) end
if ajar and not shut then redis.call('ZREM', IDLE, CLOSED) end
return answer
