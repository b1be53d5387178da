-- stale: IDs in ready that are void. A job that is cancelled or deleted while its ID is in ready has no envelope any more; its ID stays
-- there until it is popped, for what stands in the middle of a list cannot be removed at a cost that is bounded.
-- needs: limits clock

-- The sorted set stale has these IDs -> since when, Unix ms. …:state has the field stale while it has any; only then do takes read it.
-- Whoever puts an ID into ready that is in stale takes it out of stale instead: then its old place is its place. So an ID is in ready once
-- at most. One in stale is in due at most besides (it was enqueued again, for later), and never in flight: a take that finds it in due
-- takes it out of stale and of due, and so it goes on at its old place in ready, which comes next but for what is before it.

-- sift_list notes in sifted the next entries of ready, those of list, and adds to kept those that are not void, at most one more than left.
local function sift_list(sifted, kept, revived, stale, list, left)
  for i, since in ipairs(#list > 0 and redis.call('ZMSCORE', stale, unpack(list)) or {}) do
    local n = #sifted.head + 1
    sifted.head[n], sifted.void[n] = list[i], since and not revived[list[i]]
    if not sifted.void[n] and #kept <= left then
      kept[#kept + 1] = list[i]
      sifted.at[#kept] = n
    end
  end
end

-- sift separates what is void from the heads of ready and due, of which at most left are wanted: it reads on in ready behind what is
-- void, up to MAX_ITEMS more. Returns the head of ready without it, at most one more than left; due without what goes on in ready; and what
-- strike_stale needs.
local function sift(ready, stale, head, due, left)
  local sifted = { head = {}, void = {}, at = {}, revived = {} }
  local revived, rest, kept = {}, {}, {}
  for i, since in ipairs(#due > 0 and redis.call('ZMSCORE', stale, unpack(due)) or {}) do
    if since then
      revived[due[i]] = true
      sifted.revived[#sifted.revived + 1] = due[i]
    else
      rest[#rest + 1] = due[i]
    end
  end
  sift_list(sifted, kept, revived, stale, head, left)
  if #kept < #head then
    sift_list(sifted, kept, revived, stale, redis.call('LRANGE', ready, whole(#head), whole(#head + MAX_ITEMS - 1)), left)
  end
  return kept, rest, sifted
end

-- strike_stale removes from stale what is void among the entries that leave ready, and from stale and due what goes on in ready. taken:
-- how many of the entries that are not void leave it, its first ones. Returns how many of all do: with them what is void behind them.
local function strike_stale(sifted, taken, stale, state, due)
  local last, out = taken > 0 and sifted.at[taken] or 0, {}
  while sifted.void[last + 1] do last = last + 1 end
  for i = 1, last do
    if sifted.void[i] then out[#out + 1] = sifted.head[i] end
  end
  if #sifted.revived > 0 then redis.call('ZREM', due, unpack(sifted.revived)) end
  for _, id in ipairs(sifted.revived) do out[#out + 1] = id end
  if #out > 0 then redis.call('ZREM', stale, unpack(out)) end
  if redis.call('ZCARD', stale) == 0 then redis.call('HDEL', state, 'stale') end
  return last
end
