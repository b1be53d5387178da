-- alarm: the first two sleeping workers keep the alarm for the head of due.
-- needs: limits clock
local SECOND_ALARM_MS = 20 -- the second worker takes this much later than the first

-- keep_alarm publishes the instant of the head of due, Unix ms, to the first two workers in the sorted set idle; wake is the prefix
-- of the channels. Returns which of the two the worker caller is (it gets no message), or 0 if it is neither. An instant further
-- away than the longest safety poll is published to nobody: every sleeping worker polls before it, and the first poll publishes it.
local function keep_alarm(idle, wake, instant_ms, caller)
  local place = 0
  if instant_ms > now_ms + STALE_MS then return 0 end
  -- read after write: which workers sleep depends on earlier writes, and the alarm comes last
  for i, keeper in ipairs(redis.call('ZRANGEBYSCORE', idle, whole(now_ms - STALE_MS), '+inf', 'LIMIT', '0', '2')) do
    if keeper == caller then
      place = i
    else
      redis.call('PUBLISH', wake .. keeper, 'a' .. whole(instant_ms + (i - 1) * SECOND_ALARM_MS))
    end
  end
  return place
end
