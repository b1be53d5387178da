-- settle: executes the settlements. A section of work.lua.

-------------------------------------------------------------------------- read: what is written below and was not read above

-- A key of a wrong type stops the call here, before the first write.
local done = math.max(ended_to - ended_from + 1, 0)
local count_ends -- counts the members of batches that end, and those that follow them, and forgets those that the take ends; nil: the call has no members
if batched then
  local function counted()
    local ONCE, BATCHES, REPORTS, counts, revoked = #KEYS - 2, #KEYS - 1, #KEYS, {}, {}
    local count_member = batched.count
    batched.check(KEYS[BATCHES], KEYS[REPORTS])
    redis.call('ZCARD', KEYS[ONCE])
    for i = 1, call and #call.revoked or 0, 2 do
      revoked[#revoked + 1] = call.revoked[i]
      count_member(counts, call.revoked[i + 1], 'cancelled', 1)
    end
    local HOW = { d = 'done', x = 'dead', e = 'dead', c = 'cancelled', m = 'cancelled', w = 'cancelled' }
    for i = #ARGV - 2 * tonumber(string.match(sends, '%d+$')) + 1, #ARGV, 2 do
      local done, cancelled = 0, 0
      for at in string.gmatch(ARGV[i + 1], '%d+') do
        local fence, holds = ARGV[at_fence + at], held[at + 1]
        if holds == fence or holds == '-' .. fence then done = done + 1 elseif holds == '!' .. fence then cancelled = cancelled + 1 end
      end
      if done > 0 then count_member(counts, ARGV[i], 'done', done) end
      if cancelled > 0 then count_member(counts, ARGV[i], 'cancelled', cancelled) end
    end
    for i, annex in pairs(annexed) do
      local n, how = finished + begun + i, nil
      local fence, holds = ARGV[at_fence + n], held[n + 1]
      if i > 0 and holds == '!' .. fence then how = 'cancelled' end
      if i > 0 and (holds == fence or holds == '-' .. fence) then how = HOW[ARGV[at_other + 4 * i - 3]] end
      if how and annex.b then count_member(counts, annex.b, how, 1) end
      if annex.m and annex.o and (how == 'done' or how == 'dead') then count_member(counts, annex.m, annex.q and 'away' or 'added', 1) end
    end
    return function()
      batched.forget(revoked, KEYS[ONCE], KEYS[21], KEYS[22])
      return batched.save(counts, KEYS[BATCHES], KEYS[REPORTS], STATE)
    end
  end
  count_ends = counted()
end
if string.byte(sends) == 113 then
  redis.call('ZCARD', KEYS[OUTBOX])
  redis.call('HLEN', KEYS[OUTGOING])
end
if keeps or annexes > 0 or void then
  redis.call('HLEN', KEYS[21])
  redis.call('ZCARD', KEYS[22])
end
local lapse, lapsed, strange, repair = -1, nil, nil, nil
local renews = (last or #ids > 0) and (renewed ~= time[1] or ttl_ms < 5000) -- once a second: enough for sessions that live 5 s
if ARGV[6] == '2' then
  -- uses: lapse
  lapse, lapsed, strange = lapses(SESSIONS, session)
  repair = repair_lapses
elseif renews then
  redis.call('ZCARD', SESSIONS)
end
if follows and not ready_read then redis.call('LLEN', READY) end
if #ids == 0 and (done > 0 and not sleeps_on or others > 0 or cancels) then redis.call('HEXISTS', JOBS, SELF) end
local adopts = state[3] and not string.find(state[3], '^%d+$') -- names of an older layout
if serves + parks + shared > 0 or adopts then redis.call('ZCARD', UNHANDLED) end
local asked = cancels and redis.call('HGET', STATE, 'asked') -- see lib/asked.lua
local max_dead, dead_out -- the oldest dead jobs, which the new ones replace
local lists, n_lists, handlers -- of the names to park on: since when they have a list; how many have one; which workers handle them
if long and not again then
  local counts, runs, fronts, dies = occurrences or cancels or void, touched > 0, false, 0
  for _, i in ipairs(others_held) do
    local at = at_other + 4 * i - 3
    local kind = ARGV[at]
    counts, runs = counts or kind ~= 'd', runs or ARGV[at + 3] ~= ''
    fronts = fronts or kind == 'b' or annexes > 0
    if kind == 'x' then dies, max_dead = dies + 1, tonumber(string.match(ARGV[at + 1], '^%d+')) end
  end
  if counts then redis.call('HLEN', COUNTERS) end
  if runs then redis.call('XLEN', KEYS[15]) end
  if (fronts or touched > 0) and not ready_read then redis.call('LLEN', READY) end
  if touched > 0 and not state[7] then redis.call('HLEN', CRASHES) end
  if touched > 0 then redis.call('HLEN', KEYS[25]) end
  if dies > 0 then
    local excess = redis.call('ZCARD', DEAD) + dies - (max_dead or 0)
    if max_dead and excess > 0 then dead_out = redis.call('ZRANGE', DEAD, 0, math.min(excess, math.max(MAX_ITEMS - settled, dies)) - 1) end
  end
  if parks > 0 then
    lists = redis.call('ZMSCORE', UNHANDLED, unpack(ARGV, at_park + 1, at_park + parks))
    n_lists = redis.call('ZCARD', UNHANDLED)
    handlers = redis.call('HMGET', KEYS[19], unpack(ARGV, at_park + 1, at_park + parks))
    for i = 1, parks + 1 do redis.call('ZCARD', KEYS[PARKED + serves + i]) end
  end
end

-------------------------------------------------------------------------------------------------- carry out the settlements

-- The first write needs no memory, whichever it is: this makes the other writes possible when the server is out of memory.
local followers -- IDs of the jobs that follow finished ones, the foremost one last; nil: none
local was_asleep = not sleeps_on and redis.call('ZREM', IDLE, worker) == 1
if done > 0 then
  redis.call('HDEL', JOBS, unpack(ended, ended_from, ended_to))
  redis.call('HDEL', INFLIGHT, unpack(ended, ended_from, ended_to))
  if crashed then redis.call('HDEL', CRASHES, unpack(ended, ended_from, ended_to)) end
  if keeps then
    -- uses: kept
    keep_finished(ARGV, keeps, KEYS[21], KEYS[22], wake)
  end
  if follows then
    -- uses: followed
    followers = follow_finished(ARGV, follows, JOBS, STATE, large)
  end
elseif sleeps_on then
  redis.call('HDEL', INFLIGHT, '')
end
if strange and #strange > 0 then repair(SESSIONS, strange) end
local mark = state[3] -- the field parked
local wakes = {} -- names of newly parked jobs, as positions
if #others_held > 0 or cancels then
  if cancels and cancels[1] then way.settle_cancelled(call, cancels, annexed, STATE, asked) end
  if cancels and cancels.texts then way.settle_replaced(call, cancels.replaced, cancels.texts, annexed) end
  for _, i in ipairs(others_held) do
    local at = at_other + 4 * i - 3
    way.settle(call, ARGV[at_id + finished + begun + i], schedule_of[i], planned_of[i], ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3],
      annexed[i])
  end
  if way.settle_manual then
    for i = 1, cancels and #cancels or 0, 3 do way.settle_manual(call.past, cancels[i], nil, nil, 'c', cancels[i + 1], nil, now_text) end
    for i = 1, cancels and #cancels.replaced or 0, 3 do way.settle_manual(call.past, cancels.replaced[i], nil, nil, 'r', '', nil, now_text) end
    for _, i in ipairs(others_held) do
      local at = at_other + 4 * i - 3
      way.settle_manual(call.past, ARGV[at_id + finished + begun + i], schedule_of[i], planned_of[i], ARGV[at], ARGV[at + 3], annexed[i], now_text)
    end
    way.save_manual(call.past, KEYS[24])
  end
  done = done + call.done
  way.save_settlements(call, INFLIGHT, JOBS, DUE, DEAD, CRASHES, crashed)
  if call.sent[1] then box.save_sent(box.sums, call.sent, KEYS[OUTBOX], KEYS[OUTGOING], STATE) end
  if cancels and cancels.texts then way.save_replaced(cancels.replaced, KEYS[26], READY) end
  if way.save_annexes then way.save_annexes(call, KEYS[21], KEYS[22], KEYS[23], wake) end
  if call.large and not large then redis.call('HSET', STATE, 'large', '1') end
  if dead_out and #dead_out > 0 then
    local dying, oldest = {}, {}
    for i = 2, #call.dead, 2 do dying[call.dead[i]] = true end
    for _, id in ipairs(dead_out) do
      if not dying[id] then oldest[#oldest + 1] = id end
    end
    if #oldest > 0 then
      redis.call('ZREM', DEAD, unpack(oldest))
      redis.call('HDEL', JOBS, unpack(oldest))
      if grouped then redis.call('HDEL', PLACES, unpack(oldest)) end
    end
  end
end
local forget_name, shared_name -- of the piece parked, if jobs are parked or served
if (adopts or serves + shared + parks > 0) and not again then
  -- uses: parked
  forget_name, shared_name = unlist, SHARED
  if adopts then
    adopt_names(UNHANDLED, mark)
    mark = parked_mark(nil)
    redis.call('HSET', STATE, 'parked', mark)
  end
  for position, jobs in pairs(call and call.parked or {}) do
    local name, oldest = ARGV[at_park + position], tonumber(call.now)
    for i = 1, #jobs, 2 do oldest = math.min(oldest, tonumber(jobs[i])) end
    wakes[#wakes + 1] = position
    if lists[position] or n_lists < MAX_PARKED then
      redis.call('ZADD', KEYS[PARKED + serves + position], unpack(jobs))
      if not lists[position] then n_lists, mark = n_lists + 1, parked_mark(mark) end
      if not lists[position] or oldest < tonumber(lists[position]) then redis.call('ZADD', UNHANDLED, whole(oldest), name) end
    else
      for i = 2, #jobs, 2 do jobs[i] = name .. '\t' .. jobs[i] end
      redis.call('ZADD', KEYS[PARKED + serves + parks + 1], unpack(jobs))
      redis.call('ZADD', UNHANDLED, whole(oldest), SHARED)
      mark = parked_mark(mark)
    end
  end
  if mark ~= state[3] then redis.call('HSET', STATE, 'parked', mark) end
end
