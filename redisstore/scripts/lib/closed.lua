-- closed: …:callers remembers ended sessions and completed calls of operators: a late copy of a session's first
-- call takes nothing, and a call that is repeated, because its answer was lost, changes nothing and has the same answer.
-- needs: callers clock
local CLOSED_S = 120 -- no copy is on its way for longer

-- remember_closed adds a session, or a call that has answered the number n, below ROUND, to the sorted set callers, and removes
-- old entries.
local function remember_closed(callers, name, n)
  redis.call('ZADD', callers, whole((now_s - CALLER_S + CLOSED_S) * ROUND + (n or 0)), name)
  redis.call('ZREMRANGEBYSCORE', callers, OLDEST_CALLER, whole((now_s - CALLER_S) * ROUND))
end

-- answered returns the number that the call of this name has answered; nil: it was not completed before.
local function answered(callers, name)
  local score = tonumber(redis.call('ZSCORE', callers, name) or '')
  return score and score % ROUND
end
