-- extend.lua: extend a session: the worker's heartbeat. It has no number: a call that is sent twice extends twice.
-- Model: EXTEND_BODY in models/session.pml.
-- KEYS[1] …:inflight:<session>  hash  the field of piece session exists while the session lives
-- KEYS[2] …:sessions            zset  session -> instant it lapses, Unix ms
-- KEYS[3] …:open                hash  schedule -> see lib/open.lua
-- KEYS[4] …:state               hash  asked, see lib/asked.lua
-- ARGV[1] session; ARGV[2] time to live, ms; ARGV[3...] schedules whose occurrences it holds under policy cancel
-- Returns time (us), 1 extended or 0 gone, the jobs in flight that were cancelled (ID and fence of each; 0: none), then the occurrences in
-- flight behind which a new one waits.
local INFLIGHT, SESSIONS, OPEN, STATE = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local MAX_READ = 4000 -- if very many jobs are in flight, a heartbeat reads this many, at random
-- uses: clock open session
local alive = string.match(redis.call('HGET', INFLIGHT, SELF) or '', '^%d+ ')
local answer = { whole(now_us), alive and 1 or 0, 0 }
if not alive then return answer end
if redis.call('HGET', STATE, 'asked') then
  local fields, cancelled = nil, {}
  if redis.call('HLEN', INFLIGHT) > MAX_READ then
    fields = redis.call('HRANDFIELD', INFLIGHT, MAX_READ, 'WITHVALUES')
  else
    fields = redis.call('HGETALL', INFLIGHT)
  end
  for i = 1, #fields, 2 do
    local fence = string.match(fields[i + 1], '^!(%d+)$')
    if fence then cancelled[#cancelled + 1], cancelled[#cancelled + 2] = fields[i], fence end
  end
  answer[3] = cancelled
end
for i = 3, #ARGV do
  local id, fence, _, _, letter, fresh = opened(redis.call('HGET', OPEN, ARGV[i]))
  if id and letter == 'c' and fence ~= '0' and fresh ~= '' then answer[#answer + 1] = id end
end
redis.call('ZREM', SESSIONS, '') -- makes the next write possible when the server is out of memory
redis.call('ZADD', SESSIONS, whole(now_ms + tonumber(ARGV[2])), ARGV[1])
return answer
