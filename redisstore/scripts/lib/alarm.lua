-- alarm: needs IDLE, WAKE and the piece wake.

-- keep_alarm tells the first two sleepers, who keep the alarm for the head of due, when that is, and returns which of the
-- two the caller is; 0: neither. One further away than the longest safety poll is nobody's yet: every sleeper looks before
-- then, and the first to do so hands it to whoever the first two are by that time.
local function keep_alarm(instant_ms, caller)
  local place = 0
  if instant_ms > now_ms + STALE_MS then return 0 end
  -- read after write: who sleeps depends on what was done, and the alarm comes last
  for i, keeper in ipairs(redis.call('ZRANGEBYSCORE', IDLE, whole(now_ms - STALE_MS), '+inf', 'LIMIT', '0', '2')) do
    if keeper == caller then
      place = i
    else
      redis.call('PUBLISH', WAKE .. keeper, 'a' .. whole(instant_ms + (i - 1) * 20)) -- the second lets the first go ahead
    end
  end
  return place
end
