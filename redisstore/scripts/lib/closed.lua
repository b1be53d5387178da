-- closed: sessions that have ended, and calls of operators that were carried out, are remembered in …:callers: a copy of a session's first
-- call that comes late takes nothing, and a call that is sent again, because its answer was lost, changes nothing and has the same answer.
-- needs: callers clock
local CLOSED_S = 120 -- no copy is under way for longer

-- remember_closed adds a session, or a call that has answered the number n, below ROUND, to the sorted set callers, and removes from it
-- what is too old.
local function remember_closed(callers, name, n)
  redis.call('ZADD', callers, whole((now_s - CALLER_S + CLOSED_S) * ROUND + (n or 0)), name)
  redis.call('ZREMRANGEBYSCORE', callers, OLDEST_CALLER, whole((now_s - CALLER_S) * ROUND))
end

-- answered returns the number that the call of this name has answered; nil: it was not carried out before.
local function answered(callers, name)
  local score = tonumber(redis.call('ZSCORE', callers, name) or '')
  return score and score % ROUND
end
