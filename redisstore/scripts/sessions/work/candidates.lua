-- candidates: which jobs could be taken, and from which place. A section of work.lua.

------------------------------------------------------------------------------------------------- read: what could be taken

-- ids are the candidates in order, from[i] is the place of each: nil ready, 'd' due, 'g' line, n the n-th list of parked ones.
local ids, from = {}, {}
local next_ms = -1 -- instant of the head of due
if not sleeps_on then next_ms = due_head(DUE) end
local since = nil -- parked candidate -> since when; nil: none
local member_of = nil -- candidate from the shared list -> its member there
local ready_read = false -- …:ready was read
local turn -- which list gets the odd place next time, if that changes: 1 due, 0 ready
local ready_left -- how many this call leaves in ready, as far as it has read; nil: unknown
local begun_before -- of a repeated call: how many of the jobs it took have begun
local sifted, strike -- if IDs in ready are void: the result of the piece stale, and its function that writes it
if again then
  -- uses: again
  ids, begun_before = taken_since(INFLIGHT, tonumber(first_drawn))
elseif want > 0 and not paused then
  local function add(list, first, last_one, source)
    local n = #ids
    for i = first, last_one do
      n = n + 1
      ids[n], from[n] = list[i], source
    end
  end
  for i = 1, serves do
    if #ids < want then
      local parked = redis.call('ZRANGE', KEYS[PARKED + i], 0, want - #ids - 1, 'WITHSCORES')
      since = since or {}
      for j = 1, #parked, 2 do
        add(parked, j, j, i)
        since[parked[j]] = parked[j + 1]
      end
    end
  end
  if shared > 0 and #ids < want then
    since, member_of = since or {}, {}
    for i, score in ipairs(redis.call('ZMSCORE', KEYS[PARKED + serves + parks + 1], unpack(ARGV, at_serve + serves + 1, at_park))) do
      local member = ARGV[at_serve + serves + i]
      local id = string.match(member, '\t(.*)$')
      if score and id and #ids < want then
        add({ id }, 1, 1, serves + parks + 1)
        since[id], member_of[id] = score, member
      end
    end
  end
  if grouped then grouped.fn.bounce_parked(grouped, ids, from, member_of, PLACES) end
  local left = want - #ids
  if left > 0 then
    -- one more than is wanted, which shows whether this call leaves any
    local ready, due = redis.call('LRANGE', READY, '0', left == want and not limit and ARGV[4] or whole(left)), {}
    if next_ms >= 0 and next_ms <= now_ms then due = redis.call('ZRANGEBYSCORE', DUE, '-inf', now_text, 'LIMIT', '0', whole(left)) end
    if grouped then due = grouped.fn.split_due(grouped, due, left, DUE, PLACES) end
    if state[10] then
      -- uses: stale
      ready, due, sifted = sift(READY, KEYS[20], ready, due, left)
      strike = strike_stale
    end
    if grouped then ready = grouped.fn.split_ready(grouped, ready, PLACES) end
    ready_read = true
    local counts -- if jobs have groups: how many of ready, of due and of groups are candidates
    if grouped then
      -- a third of each, in turn; unused places of one list go to the others
      local fn, first, order, next_first = grouped.fn, (tonumber(state[8] or 0) or 0) % 3, nil, nil
      local most = fn.prepare_turns(grouped, left, math.max(left - ahead, 0), LINE, PLACES, KEYS[31], KEYS[32], KEYS[33], KEYS[34])
      grouped.waits = grouped.w > 0 -- also if it is not the turn of groups, and no job of them is picked
      local alone = #ready + #due == 0 -- jobs of groups get all slots
      local nth, ahead_from = 0, left + 1 -- from which job of groups on they are taken ahead
      if alone then
        order, counts, ahead_from = {}, { 0, 0, grouped.waits and most or 0 }, math.max(want - ahead - #ids + 1, 1)
      else
        order, counts = fn.share_out(left, { #ready, #due, grouped.waits and most or 0 }, first)
      end
      for i, list in ipairs(order) do
        if list == 2 then nth = nth + 1 end
        if list == 2 and #ids + i > want - ahead and ahead_from > left then ahead_from = nth end
      end
      fn.pick_turns(grouped, counts[3], ahead_from, LINE)
      if alone then
        if #ids == 0 and not large then -- else the candidates may be cut
          ids, grouped.only = grouped.picks, #grouped.picks
          for i = 1, #ids do from[i] = 'g' end
        else
          add(grouped.picks, 1, #grouped.picks, 'g')
        end
      else
        order, counts, next_first = fn.share_out(left, { #ready, #due, #grouped.picks }, first)
      end
      if #ready > 0 and (#due > 0 or grouped.waits) or #due > 0 and grouped.waits then turn = next_first end
      if not sifted then ready_left = #ready - counts[1] end
      local at = { 0, 0, 0 }
      for _, list in ipairs(order) do
        at[list + 1] = at[list + 1] + 1
        if list == 0 then add(ready, at[1], at[1], nil) end
        if list == 1 then add(due, at[2], at[2], 'd') end
        if list == 2 then add(grouped.picks, at[3], at[3], 'g') end
      end
    end
    -- half of each, the odd place in turn; unused places of one list go to the other
    local odd = state[8] and 1 or 0
    local half = math.floor((left + odd) / 2)
    if not counts and #due > 0 and #ready > 0 and (large or left % 2 == 1) then turn = 1 - odd end
    local from_due = math.min(#due, math.max(half, left - math.min(#ready, left)))
    local from_ready = math.min(#ready, left - from_due)
    if not sifted and not counts then ready_left = #ready - from_ready end
    if counts then
      -- they are there already
    elseif from_due == 0 and serves + shared == 0 then
      ids = ready
      ids[want + 1] = nil
    elseif large then
      -- in turn, because the call may be full of bodies before it has all of them
      for i = 1, math.max(from_ready, from_due) do
        if odd == 1 then add(due, i, math.min(i, from_due), 'd') end
        add(ready, i, math.min(i, from_ready), nil)
        if odd == 0 then add(due, i, math.min(i, from_due), 'd') end
      end
    else
      add(ready, 1, from_ready, nil)
      add(due, 1, from_due, 'd')
    end
  end
end

if large and not again then
  -- uses: bytes
  if cut_bytes(ids, from, JOBS, SCHEDULES) then ready_left = nil end
end

local bodies, crashes, crashed = {}, nil, state[7] and redis.call('HLEN', CRASHES) > 0
local later -- suspects that are delayed
local waits -- the number for the worker, see set_apart in lib/suspects.lua; nil: none
local joined, occurrences -- the IDs, one after the other (nil: some have been left out since); whether an occurrence is among them
local void -- candidates that are not taken: member of a cancelled batch, which ends -> its batch; SELF -> true; nil: all are taken
if #ids > 0 then
  bodies = redis.call('HMGET', JOBS, unpack(ids))
  for i = 1, grouped and grouped.changed and #ids or 0 do bodies[i] = grouped.back[ids[i]] or bodies[i] end -- given back with a new envelope, and taken again
  if crashed then
    crashes = redis.call('HMGET', CRASHES, unpack(ids))
    if not again then
      -- uses: suspects
      local kept, off, why = set_apart(ids, from, crashes, ARGV[15] == '1', want - ahead, state[8])
      if kept then
        later, ready_left, waits = {}, nil, why
        local from_ms = now_ms + (ARGV[15] == '2' and HELD_MS or 0)
        for i, position in ipairs(off) do later[i] = { id = ids[position], ready = not from[position], line = from[position] == 'g', at_ms = from_ms + i * STEP_MS } end
        if why % 2 == 1 then turn = state[8] and 0 or 1 end
        local kept_ids, kept_from, kept_bodies, kept_crashes = {}, {}, {}, {}
        for i, position in ipairs(kept) do
          kept_ids[i], kept_from[i], kept_bodies[i], kept_crashes[i] = ids[position], from[position], bodies[position], crashes[position]
        end
        ids, from, bodies, crashes = kept_ids, kept_from, kept_bodies, kept_crashes
      end
    end
  end
  joined = table.concat(ids)
  occurrences = string.find(joined, '@', 1, true)
  if state[15] and not again and redis.call('HGET', STATE, 'revoked') then
    if not batched then return 0 end
    local BATCHES = #KEYS - 1
    void = batched.find(ids, bodies, KEYS[BATCHES])
  end
  if string.find(joined, SELF, 1, true) then
    void = void or {}
    void[SELF] = true -- no job has this ID: it was edited by hand, and is removed
  end
end
