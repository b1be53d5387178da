-- due: the head of the sorted set due. The clients add no score below 0; -inf, inf and others may be edited by hand.
local LATEST_MS = 7258118400000 -- 2200-01-01, after which no occurrence is computed

-- due_head returns the instant of the first job in due, Unix ms, from 0 to LATEST_MS; -1: due is empty.
local function due_head(due)
  -- read after write: the caller may have changed the first job
  local score = redis.call('ZRANGE', due, '0', '0', 'WITHSCORES')[2]
  if not score then return -1 end
  local ms = tonumber(score) or string.sub(score, 1, 1) == '-' and 0 or LATEST_MS -- not every Lua reads inf as a number
  return math.min(math.max(ms, 0), LATEST_MS)
end
