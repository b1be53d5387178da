-- lapse: which sessions have lapsed.
-- needs: clock
local MAX_SEEN_LAPSED = 16 -- sessions that one answer contains
local SESSION_MS = 12000 -- how long a session lives at most if its name does not end with its time to live, "~<ms>"

-- true_lapse returns the lapse of an entry, Unix ms. If that is not its score, it adds the entry, score and name, to the list strange:
-- the score is not an instant, or it is further ahead than the session lives, because the clock stepped back.
local function true_lapse(session, score, strange)
  local ms = tonumber(score)
  local ttl_ms = string.match(session, '~(%d+)$') or SESSION_MS
  local longest = now_ms + tonumber(ttl_ms)
  local lapse = ms or string.sub(score, 1, 1) == '-' and 0 or longest -- not every Lua reads inf as a number
  lapse = math.max(0, math.min(math.floor(lapse), longest))
  if lapse ~= ms then
    strange[#strange + 1] = whole(lapse)
    strange[#strange + 1] = session
  end
  return lapse
end

-- lapses returns the earliest lapse in the sorted set sessions, except that of own, Unix ms (-1: there is no other session); at most
-- MAX_SEEN_LAPSED other sessions past theirs, two values each: name, lapse; and the entries to be repaired, see true_lapse.
local function lapses(sessions, own)
  local first = redis.call('ZRANGE', sessions, '0', '1', 'WITHSCORES')
  if not first[1] then return -1, {}, {} end
  local earliest, lapsed, strange = -1, {}, {}
  -- Usually nothing is past its lapse and nothing far ahead: then only these two commands run.
  local seen = redis.call('ZRANGEBYSCORE', sessions, whole(now_ms + SESSION_MS + 1), '+inf', 'WITHSCORES', 'LIMIT', '0', '100')
  for i = 1, #first do seen[#seen + 1] = first[i] end
  for i = 1, #seen, 2 do
    local lapse = true_lapse(seen[i], seen[i + 1], strange)
    if seen[i] ~= own and (earliest < 0 or lapse < earliest) then earliest = lapse end
  end
  if (tonumber(first[2]) or 0) <= now_ms then
    local past = redis.call('ZRANGEBYSCORE', sessions, '-inf', whole(now_ms), 'WITHSCORES', 'LIMIT', '0', whole(MAX_SEEN_LAPSED + 1))
    for i = 1, #past, 2 do
      if past[i] ~= own and #lapsed < 2 * MAX_SEEN_LAPSED then
        lapsed[#lapsed + 1], lapsed[#lapsed + 2] = past[i], whole(true_lapse(past[i], past[i + 1], strange))
      end
    end
  end
  return earliest, lapsed, strange
end

-- repair_lapses repairs the entries that lapses has found. Its first write needs no memory.
local function repair_lapses(sessions, strange)
  if #strange == 0 then return end
  redis.call('ZREM', sessions, '')
  redis.call('ZADD', sessions, unpack(strange))
end
