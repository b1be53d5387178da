-- stale: IDs in ready that are void. A job that is cancelled or deleted while its ID is in ready has no envelope any more; its ID remains
-- there until it is popped, because an entry in the middle of a list cannot be removed at a bounded cost.
-- needs: limits clock

-- The sorted set stale has these IDs -> since when, Unix ms; plus 0.5 if the job was deleted: only a cancelled one can be cancelled again. …:state has
-- the field stale while the set is not empty; takes read the set only if the field is there.
-- A script that would add an ID to ready that is in stale removes it from stale instead: then it keeps its old place. So an ID is in ready at
-- most once. An ID in stale may also be in due (it was enqueued again, for later), but it is never in flight: a take that finds it in due
-- removes it from stale and from due. So the job continues at its old place in ready, and is taken when that place is reached.

-- sift_list adds the next entries of ready, those of list, to sifted, and the valid ones to kept, at most one more than left.
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

-- sift separates the void IDs from the heads of ready and due, of which at most left are wanted: it reads more of ready after
-- void ones, up to MAX_ITEMS more. Returns the valid head of ready, at most one more than left; due without the jobs that continue in ready; and
-- the data for strike_stale.
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

-- strike_stale removes from stale the void entries that leave ready, and from stale and due the jobs that continue in ready. taken:
-- how many of the valid entries leave it, its first ones. Returns how many of all leave it, including the void ones after them.
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
