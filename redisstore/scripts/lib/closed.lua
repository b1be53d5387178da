-- closed: sessions that have ended are remembered in …:callers, so that a copy of their first call that comes late takes nothing.
-- needs: callers clock
local CLOSED_S = 120 -- no copy is under way for longer

-- remember_closed adds a session to the sorted set callers, and removes from it what is too old.
local function remember_closed(callers, session)
  redis.call('ZADD', callers, whole((now_s - CALLER_S + CLOSED_S) * ROUND), session)
  redis.call('ZREMRANGEBYSCORE', callers, OLDEST_CALLER, whole((now_s - CALLER_S) * ROUND))
end
