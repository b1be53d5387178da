-- limit_queue.lua: set the limit of a queue, or remove it; or only recount its flights. In each case they are counted in the hashes of
-- all sessions. A repeated call changes nothing. The starts that were counted before count under the new limit too.
-- KEYS[1] …:state     hash  paused, layout, limit (see lib/queuelimit.lua), groups
-- KEYS[2] …:idle      zset  sleeping worker -> instant it went to sleep, Unix ms; see lib/gate.lua
-- KEYS[3] …:due       zset  job ID -> instant it is due, Unix ms
-- KEYS[4] …:ready     list  IDs of jobs to run now
-- KEYS[5] …:sessions  zset  session -> instant it lapses, Unix ms
-- KEYS[6] …:callers   zset  enqueuer -> instant and number of its last call; completed calls, see lib/closed.lua
-- KEYS[7] …:turns  zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[8] …:opens  zset  group -> instant of its next start, Unix ms
-- KEYS[9...] …:inflight:<session>  hash  job ID -> fence; and the field of the piece session
-- ARGV[1] prefix of the wake-up channels; ARGV[2] how many jobs may run, ARGV[3] how many may start per ARGV[4] ms (0: no such limit; both 0:
-- no limit); ARGV[2] empty: only recount; ARGV[5] a unique name of this call: a late copy of it changes nothing, also if the limit was set again since;
-- ARGV[6...] the sessions of KEYS[9...]
-- Returns 1; 0 if there is a session that the caller does not name: then nothing is changed, and the caller must read …:sessions again.
local STATE, IDLE, DUE, READY, SESSIONS, CALLERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local wake, counts_only = ARGV[1], ARGV[2] == ''
local TURNS, OPENS = KEYS[7], KEYS[8]
local INFLIGHT, NAMES = 8, 5 -- the hashes come behind KEYS[8], the names of their sessions behind ARGV[5]
-- uses: limits callers clock layout closed gate wake alarm due session queuelimit waiting
local state = redis.call('HMGET', STATE, 'paused', 'layout', 'limit', 'groups')
local refusal = newer(state[2])
if refusal then return refusal end
local paused, before = state[1], read_limit(state[3])
next_take(READY, DUE, TURNS, OPENS, state[4]) -- read, so that a key of a wrong type stops the call here
redis.call('ZSCORE', IDLE, CLOSED) -- read, so that a key of a wrong type stops the call here
if answered(CALLERS, ARGV[5]) then return 1 end

local limit
if counts_only then
  if not before or before.unreadable then return 1 end
  limit = before
else
  limit = new_limit(tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]))
  for _, pair in ipairs(before and limit.starts > 0 and before.pairs or {}) do add_starts(limit, pair.last, pair.span, pair.n) end
end

local removed = limit.running == 0 and limit.starts == 0
local flights = 0
if not removed then
  local known = 0
  for first = NAMES + 1, #ARGV, MAX_ITEMS do
    for i, lapse in ipairs(redis.call('ZMSCORE', SESSIONS, unpack(ARGV, first, math.min(first + MAX_ITEMS - 1, #ARGV)))) do
      if lapse then
        local at = INFLIGHT + first - NAMES + i - 1
        known = known + 1
        flights = flights + redis.call('HLEN', KEYS[at]) - redis.call('HEXISTS', KEYS[at], SELF)
      end
    end
  end
  if known < redis.call('ZCARD', SESSIONS) then return 0 end
end

redis.call('ZREM', IDLE, '') -- makes the other writes possible when the server is out of memory
if not counts_only then remember_closed(CALLERS, ARGV[5]) end
if removed then
  if not state[3] then return 1 end
  redis.call('HDEL', STATE, 'limit')
  if not paused then redis.call('ZREM', IDLE, CLOSED) end
else
  count_flights(limit, flights - limit.flights, 0, 0)
  redis.call('HSET', STATE, 'limit', limit_text(limit))
  if state[2] ~= LAYOUT then redis.call('HSET', STATE, 'layout', LAYOUT) end
  if not state[2] then -- delete_queue.lua lets these expire
    redis.call('PERSIST', CALLERS)
    redis.call('PERSIST', IDLE)
  end
  redis.call('ZADD', IDLE, '-1', CLOSED)
end
if paused then return 1 end
local startable, next_ms = next_take(READY, DUE, TURNS, OPENS, state[4], not removed and limit, next_start)
if startable then
  wake_one(IDLE, wake)
elseif next_ms >= 0 then
  keep_alarm(IDLE, wake, next_ms)
end
return 1
