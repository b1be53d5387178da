-- extend.lua: extend a session: the worker's heartbeat. It has no number: a call that is sent twice extends twice.
-- KEYS[1] …:inflight:<session>  hash  the field of piece session exists while the session lives
-- KEYS[2] …:sessions            zset  session -> instant it lapses, Unix ms
-- KEYS[3] …:open                hash  schedule -> see lib/open.lua
-- ARGV[1] session; ARGV[2] time to live, ms; ARGV[3...] schedules whose occurrences it holds under policy cancel
-- Returns time (us), 1 extended or 0 gone, then the occurrences in flight behind which a new one waits.
local INFLIGHT, SESSIONS, OPEN = KEYS[1], KEYS[2], KEYS[3]
-- uses: clock open session
local alive = string.match(redis.call('HGET', INFLIGHT, SELF) or '', '^%d+ ')
local answer = { whole(now_us), alive and 1 or 0 }
if not alive then return answer end
for i = 3, #ARGV do
  local id, fence, _, _, letter, fresh = opened(redis.call('HGET', OPEN, ARGV[i]))
  if id and letter == 'c' and fence ~= '0' and fresh ~= '' then answer[#answer + 1] = id end
end
redis.call('ZREM', SESSIONS, '') -- lets the next write pass when the server is out of memory
redis.call('ZADD', SESSIONS, whole(now_ms + tonumber(ARGV[2])), ARGV[1])
return answer
