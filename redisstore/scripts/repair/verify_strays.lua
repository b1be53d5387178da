-- verify_strays.lua: find the hashes of jobs in flight without a session, and the lists of parked jobs without a name; if requested, add
-- the session or the name. A session that is listed again has lapsed: reaping returns its jobs, unless its worker lives and extends it.
-- KEYS[1] …:sessions   zset  session -> instant it lapses, Unix ms
-- KEYS[2] …:unhandled  zset  job name -> since when it has parked jobs, Unix ms
-- KEYS[3] …:state      hash  layout, parked
-- KEYS[4...] …:inflight:<session>  hash  job ID -> fence; and the field of the piece session
-- KEYS[5...] …:parked:<name>       zset  job ID -> instant parked, Unix ms
-- ARGV[1] 1: repair, 0: look; ARGV[2] how many hashes; ARGV[3...] their sessions, then the names of the lists
-- Returns a number for each: how many orphaned jobs are there.
local SESSIONS, UNHANDLED, STATE = KEYS[1], KEYS[2], KEYS[3]
local INFLIGHT, NAMES = 3, 2 -- the hashes come behind KEYS[3], the names behind ARGV[2]
local repairs, n_sessions = ARGV[1] == '1', tonumber(ARGV[2])
local PARKED = INFLIGHT + n_sessions -- the lists come after the hashes
-- uses: clock layout session parked
local state = redis.call('HMGET', STATE, 'layout', 'parked')
local refusal = newer(state[1])
if refusal then return refusal end
local answer, lapsed, listed = {}, {}, {}
redis.call('ZCARD', SESSIONS)
redis.call('ZCARD', UNHANDLED)
for i = 1, #ARGV - NAMES do
  local name = ARGV[NAMES + i]
  answer[i] = 0
  if i <= n_sessions then
    local jobs = redis.call('HLEN', KEYS[INFLIGHT + i]) - redis.call('HEXISTS', KEYS[INFLIGHT + i], SELF)
    if jobs > 0 and not redis.call('ZSCORE', SESSIONS, name) then
      answer[i] = jobs
      lapsed[#lapsed + 1], lapsed[#lapsed + 2] = whole(now_ms), name
    end
  elseif not redis.call('ZSCORE', UNHANDLED, name) then
    local l = i - n_sessions
    answer[i] = redis.call('ZCARD', KEYS[PARKED + l])
    local oldest = redis.call('ZRANGE', KEYS[PARKED + l], '0', '0', 'WITHSCORES')[2]
    if oldest then listed[#listed + 1], listed[#listed + 2] = oldest, name end
  end
end
if not repairs then return answer end
if #lapsed > 0 then redis.call('ZADD', SESSIONS, unpack(lapsed)) end
if #listed > 0 then
  redis.call('ZADD', UNHANDLED, unpack(listed))
  redis.call('HSET', STATE, 'parked', parked_mark(state[2]))
end
return answer
