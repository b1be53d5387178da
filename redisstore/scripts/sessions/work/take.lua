-- take: the taken candidates leave their lists and are in flight. A section of work.lua.

-------------------------------------------------------------------------------------------------------- decide what is taken

-- taken and data, the IDs and data of the answer, are the candidates and their envelopes as long as each is taken unchanged.
local n_ids, n_taken, taken, data = #ids, 0, ids, bodies
local taken_crashes = {}
local odd = {} -- fields of state that cannot be read

local first_fence, first_text = now_us, now_us_text
if again then
  first_fence, first_text = tonumber(first_drawn), first_drawn
elseif state[1] and (state[1] >= now_us_text or #state[1] ~= #now_us_text) then -- as texts: both have 16 digits from 2001 to 2286
  local stored = #state[1] <= 16 and tonumber(state[1]) or -1
  if stored >= now_us and stored < 9e15 then
    first_fence = stored + 1
    first_text = whole(first_fence)
  elseif not (stored >= 0 and stored < now_us) then
    odd[#odd + 1] = 'fence'
  end
end
local done_before = tonumber(state[6] or 0) or -1
if not (done_before >= 0 and done_before < 1e15) then
  done_before = 0
  odd[#odd + 1] = 'done'
end
if many and n_ids > 0 and not again and not limit then
  -- What is in flight with "-" before its fence until the call names it as begun: a crash before that counts nothing. With a limit it counts as begun, as
  -- it may keep others from starting. After a crash a job begins alone, so that it is known which job makes its holder vanish.
  -- uses: named
  local ruled = {} -- ID -> true: a rule of its group counts it, or it keeps others of an ordered group from starting
  if grouped and grouped.rules then grouped.fn.read_picked(grouped) end
  for i, g in ipairs(grouped and grouped.rules and grouped.picked or {}) do
    if g.rule.running > 0 or g.rule.starts > 0 or g.rule.ordered then ruled[grouped.picks[i]] = true end
  end
  local head, ends, known = nil, 0, nil -- the beginning of the last envelope up to its name, and whether jobs of this name are gathered: most envelopes begin alike
  many.gathers = function(id, text, crash)
    if crash or ruled[id] then return nil end
    if not head or string.sub(text, 1, ends) ~= head then
      local name, at = name_in(text)
      if not name then return nil end
      head, ends, known = string.sub(text, 1, at), at, string.find(many.names, ' ' .. name .. ' ', 1, true)
    end
    return known
  end
end
local begins, last_text = want - ahead, nil
if again then
  n_taken, data = n_ids, call.data
  for i = 1, crashes and n_ids or 0 do taken_crashes[i] = crashes[i] or '0' end
elseif n_ids > 0 then
  -- Each taken job draws a fence, one more than the last. Nine times out of ten only the last digit of its text changes.
  local DIGITS = { [0] = '0', '1', '2', '3', '4', '5', '6', '7', '8', '9' }
  local stem, digit = string.sub(first_text, 1, -2), first_fence % 10
  local at = #flying
  for i = 1, n_ids do
    local id, text = ids[i], bodies[i] or ''
    local fence = stem .. DIGITS[digit]
    if void and void[id] then text = nil end
    if text and long then text = way.meet(call, i, n_taken + 1, fence, worker, session) end
    if text ~= bodies[i] and taken == ids then -- from here on they differ
      taken, data = {}, {}
      for j = 1, n_taken do taken[j], data[j] = ids[j], bodies[j] end
    end
    if text then
      n_taken = n_taken + 1
      if taken ~= ids then taken[n_taken], data[n_taken] = id, text end
      local unbegun = n_taken > begins or many and many.gathers and many.gathers(id, text, crashes and crashes[i])
      flying[at + 1], flying[at + 2] = id, unbegun and '-' .. fence or fence
      at = at + 2
      if crashes then taken_crashes[n_taken] = crashes[i] or '0' end
      last_text, digit = fence, digit + 1
      if digit == 10 then stem, digit = whole((first_fence + n_taken) / 10), 0 end
    end
  end
end

-------------------------------------------------------------------------------------------------------------------- write

-- The candidates leave their lists.
local pops, due_out, parked_out = again and 0 or n_ids + (grouped and grouped.fronted or 0), {}, {}
local only = grouped and not long and not later and grouped.only == n_ids -- each candidate is of a group, and is taken
if only then
  grouped.out = grouped.members
elseif grouped then
  local keeps, leaves, gets = {}, {}, {}
  for i = 1, long and n_taken or 0 do gets[taken[i]] = true end
  for i, source in pairs(from) do
    local those = (gets[ids[i]] or not long) and keeps or leaves -- an occurrence in line may be dropped, or go behind another one
    if source == 'g' then those[ids[i]] = true end
  end
  for _, suspect in ipairs(later or {}) do leaves[suspect.id] = suspect.line end
  grouped.out = grouped.fn.keep_picks(grouped, keeps, leaves, LINE)
end
if many and grouped and grouped.rules then
  local group_of, letters = {}, {}
  grouped.fn.read_picked(grouped)
  for i, id in ipairs(grouped.picks) do group_of[id] = grouped.picked[i] end
  for i = 1, n_taken do
    local g = group_of[taken[i]]
    local full = g and (g.rule.running > 0 and g.flights >= g.rule.running or g.starts and g.used >= g.rule.starts)
    letters[i] = g and g.rule.ordered and 'o' or full and 'f' or '.'
  end
  many.letters = n_taken > 0 and table.concat(letters) or nil
end
if grouped then
  for _, job in ipairs(grouped.joins) do
    if job.from == 'd' then
      due_out[#due_out + 1] = job.id
    elseif job.from ~= 'r' then
      parked_out[job.from] = parked_out[job.from] or {}
      table.insert(parked_out[job.from], job.member)
    end
  end
end
if only then pops = pops - n_ids end
for i, source in pairs(only and {} or from) do
  pops = pops - 1
  if source == 'd' then
    due_out[#due_out + 1] = ids[i]
  elseif source ~= 'g' then
    parked_out[source] = parked_out[source] or {}
    table.insert(parked_out[source], member_of and member_of[ids[i]] or ids[i])
  end
end
if #due_out > 0 then redis.call('ZREM', DUE, unpack(due_out)) end
if later and #later > 0 then
  local due = {}
  for i, suspect in ipairs(later) do
    due[2 * i - 1], due[2 * i] = whole(suspect.at_ms), suspect.id
    if suspect.ready then pops = pops + 1 end
  end
  redis.call('ZADD', DUE, unpack(due))
end
if sifted then pops = strike(sifted, pops, KEYS[20], STATE, DUE) end
if pops > 0 then redis.call('LTRIM', READY, whole(pops), '-1') end
if followers and followers[1] then redis.call('LPUSH', READY, unpack(followers)) end
for key, out in pairs(parked_out) do redis.call('ZREM', KEYS[PARKED + key], unpack(out)) end
if state[7] and not crashed then redis.call('HDEL', STATE, 'crashed') end
if turn and turn > 0 then
  redis.call('HSET', STATE, 'turn', whole(turn))
elseif turn then
  redis.call('HDEL', STATE, 'turn')
end

local more_parked = {} -- positions of the names served that have more
if serves + shared > 0 then -- also if nothing is taken: a name that is not answered counts as served
  for i = 1, serves + (shared > 0 and 1 or 0) do
    local at = i <= serves and i or serves + parks + 1
    -- read after write: the rest of the list is known only now
    if redis.call('ZCARD', KEYS[PARKED + at]) > 0 then
      if i <= serves then more_parked[#more_parked + 1] = i end
    elseif not again then
      if forget_name(UNHANDLED, STATE, i <= serves and ARGV[at_serve + i] or shared_name) then mark = nil end
    end
  end
end

if last or n_taken > 0 then
  if renews then redis.call('ZADD', SESSIONS, whole(now_ms + ttl_ms), session) end
  if not again then
    local holder = occurrences and ARGV[9] .. ' ' .. table.concat(call.kinds) or ARGV[9] -- a repeated call needs the kinds
    redis.call('HSET', INFLIGHT, SELF, ARGV[2] .. ' ' .. first_text .. ' ' .. time[1] .. ' ' .. holder, unpack(flying))
  end
end
if last_text and done > 0 then
  redis.call('HSET', STATE, 'fence', last_text, 'done', whole(done_before + done))
elseif last_text then
  redis.call('HSET', STATE, 'fence', last_text)
elseif done > 0 then
  redis.call('HSET', STATE, 'done', whole(done_before + done))
end
if state[4] ~= LAYOUT then redis.call('HSET', STATE, 'layout', LAYOUT) end
if not state[4] then -- delete_queue.lua lets these expire
  redis.call('PERSIST', KEYS[17])
  redis.call('PERSIST', IDLE)
end
if limit and not again then
  -- read after write: the number of flights is known only now
  local grown = redis.call('HLEN', INFLIGHT) - flights_before - (not header and n_taken > 0 and 1 or 0)
  if grown ~= 0 or n_taken > 0 or limit.back > 0 or limit.stepped then
    limit.count(limit, grown, n_taken, limit.back)
    if not limit.unreadable then redis.call('HSET', STATE, 'limit', limit_line(limit)) end
  end
end
if limit and limit.unreadable then odd[#odd + 1] = 'limit' end

if long then
  if #call.came_back > 0 and not crashed then
    redis.call('HSET', STATE, 'crashed', '1')
    crashed = true
  end
  way.save_changes(call, DUE, CRASHES, SCHEDULES, CURSORS, OWED, OPEN, BEHIND, COUNTERS, KEYS[15], KEYS[24], KEYS[25])
  if way.save_streaks then way.save_streaks(call, OWED, KEYS[27]) end
  if call.drawn and call.drawn > tonumber(last_text or 0) then redis.call('HSET', STATE, 'fence', whole(call.drawn)) end
  if #call.forgotten > 0 then
    redis.call('HDEL', JOBS, unpack(call.forgotten))
    if crashed then redis.call('HDEL', CRASHES, unpack(call.forgotten)) end
  end
  if grouped then
    local front = {}
    for _, id in ipairs(call.front) do
      if not grouped.given[id] then front[#front + 1] = id end
    end
    call.front = front
  end
  way.push_front(READY, call.front)
  for i = 1, #call.replaced, 2 do redis.call('PUBLISH', wake .. call.replaced[i], 'r' .. call.replaced[i + 1]) end
end
if grouped and long then
  local gone = { unpack(call.forgotten) }
  for _, id in ipairs(call.undue) do gone[#gone + 1] = id end
  grouped.fn.leave_groups(grouped, gone, call.behind, void, PLACES, KEYS[31], KEYS[32], KEYS[33])
  for _, member in ipairs(grouped.gave) do grouped.out[#grouped.out + 1] = member end
end
local joining -- jobs that replace flights, or follow them, and have groups; the foremost ones last; nil: none
if cancels and cancels.replaced.entering or call and call.entering[1] then
  joining, grouped = {}, first_ones
  for _, job in ipairs(cancels and cancels.replaced.entering or {}) do joining[#joining + 1] = job end
  for i = #call.entering, 1, -1 do joining[#joining + 1] = call.entering[i] end
end
if grouped then
  local fn, members, entering = grouped.fn, {}, {}
  for i, job in ipairs(joining or {}) do
    entering[i] = job.group
    local entry, member
    if job.front then
      local place = string.format('%016d', fn.place_in_front(grouped))
      entry, member = place .. ' ' .. job.group, job.group .. '\t' .. place .. '\t' .. job.id
    else
      entry, member = fn.enter_line(grouped, job.group, job.id)
    end
    if job.now then grouped.lined[#grouped.lined + 1] = member else entry = fn.NO_PLACE .. ' ' .. job.group end
    grouped.placed[#grouped.placed + 1], grouped.placed[#grouped.placed + 2] = job.id, entry
  end
  for g, id in pairs(grouped.followed) do
    fn.unblock(g, id)
    g.has, g.idle = nil, nil -- tune_groups reads its line
  end
  fn.read_groups(grouped, entering, KEYS[31], KEYS[32], KEYS[33])
  for _, name in ipairs(entering) do grouped.of[name].has = nil end -- tune_groups reads its line
  fn.save_joins(grouped, LINE, PLACES)
  for i, member in ipairs(grouped.lined) do members[2 * i - 1], members[2 * i] = '0', member end
  if #members > 0 then redis.call('ZADD', LINE, unpack(members)) end
  if #grouped.out > 0 then redis.call('ZREM', LINE, unpack(grouped.out)) end
  if #grouped.ended > 0 then redis.call('HDEL', PLACES, unpack(grouped.ended)) end
  if #grouped.placed > 0 then redis.call('HSET', PLACES, unpack(grouped.placed)) end
  fn.tune_groups(grouped, STATE, LINE, PLACES, KEYS[31], KEYS[32], KEYS[34])
end
