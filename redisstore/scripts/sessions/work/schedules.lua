-- schedules: the long path: the data that the call needs of schedules, and the functions for it. A section of work.lua.

----------------------------------------------------------------------------------------- read: the schedules (the long path)

local long = again or others > 0 or occurrences or cancels or void
local call -- the data of the long path, see lib/call.lua
local schedule_of, planned_of -- schedule and planned instant of each other settlement, if it is of an occurrence
local touched = 0 -- how many schedules
local way -- its functions, which only the next block creates
local annexed = {} -- which other settlement -> its annexes
if long then
  local function pieces() -- a function has locals of its own: here they would be too many
    -- uses: seconds strings counters definition rule owed open flight asked history call follower settle void unfinished overlap candidates
    local all = { settle = settle, settle_cancelled = settle_cancelled, save_settlements = save_settlements, meet = meet, save_changes = save_changes,
      push_front = push_front, owed_list = owed_list, read_past = read_past, read_flights = read_flights, read_vanished = read_vanished,
      new_call = new_call, answer_again = answer_again, read_waiting = read_waiting, occurrence = occurrence, bounded = bounded, picked = picked,
      revoke = revoke, HELD = HELD }
    if annexes > 0 or keeps and cancels then
      -- uses: over annex
      all.annexes_of, all.save_annexes, all.add_kept = annexes_of, save_annexes, add_kept
    end
    if cancels and cancels.replaced[1] then
      -- uses: after replaced
      all.settle_replaced, all.save_replaced = settle_replaced, save_replaced
    end
    all.streaks = function() -- only some calls need it
      -- uses: instant withdraw note streak
      return read_streaks, add_death, save_streaks
    end
    all.manuals = function()
      -- uses: envelope manual manual_settle
      return read_manual, settle_manual, save_manual
    end
    return all
  end
  way = pieces()
  local occurrence, picked = way.occurrence, way.picked
  if annexes > 0 then
    annexed = way.annexes_of(ARGV, at_other + 4 * others, annexes)
    for i, annex in pairs(annexed) do annex.fence = ARGV[at_fence + finished + begun + i] end
    redis.call('HLEN', KEYS[23])
  end
  if keeps and cancels then
    way.add_kept(annexed, ARGV, keeps, finished, cancels)
    way.add_kept(annexed, ARGV, keeps, finished, cancels.replaced)
  end

  if way.settle_replaced then
    local those = {}
    for i = 1, #cancels.replaced, 3 do those[#those + 1] = cancels.replaced[i] end
    cancels.texts = redis.call('HMGET', KEYS[26], unpack(those))
    redis.call('LLEN', READY)
    redis.call('ZCARD', DUE)
  end

  for _, i in ipairs(others_held) do
    local id = ARGV[at_id + finished + begun + i]
    if string.find(id, '#', 2, true) or annexed[i] and annexed[i].o then
      way.manual = way.manual or {} -- IDs of manual runs and followers, and of jobs that something may follow
      way.manual[#way.manual + 1] = id
    end
  end
  for _, those in ipairs(cancels and { cancels, cancels.replaced } or {}) do
    for i = 1, #those, 3 do
      way.manual = way.manual or {}
      way.manual[#way.manual + 1] = those[i]
    end
  end
  if way.manual then
    redis.call('HLEN', KEYS[25])
    way.read_manual, way.settle_manual, way.save_manual = way.manuals()
  end

  -- names: the schedules that this call touches, each once; needed: those whose definition and cursor it needs; met: those whose
  -- occurrences are candidates
  local names, known, needed, met = {}, {}, {}, {}
  schedule_of, planned_of = {}, {}
  for _, i in ipairs(others_held) do
    local name, planned = occurrence(ARGV[at_id + finished + begun + i])
    if name then
      schedule_of[i], planned_of[i] = name, planned
      if not known[name] then known[name], names[#names + 1] = true, name end
      local kind = ARGV[at_other + 4 * i - 3]
      if kind ~= 'd' and kind ~= 'x' then needed[name] = true end
    end
  end
  for i = 1, cancels and #cancels or 0, 3 do
    local name = occurrence(cancels[i])
    if name then
      if not known[name] then known[name], names[#names + 1] = true, name end
      needed[name] = true
    end
  end
  local kept = occurrences and not again and way.bounded(ids, from, math.max(OCCURRENCES - #names, 50), number % 2 == 1)
  if kept then
    ids, from, bodies, crashes = picked(ids, kept), picked(from, kept), picked(bodies, kept), crashes and picked(crashes, kept)
    joined = nil
  end
  local schedule, planned = {}, {}
  for i = 1, occurrences and #ids or 0 do
    local name, instant = occurrence(ids[i])
    if name then
      schedule[i], planned[i] = name, instant
      if not known[name] then known[name], names[#names + 1] = true, name end
      if needed[name] ~= 'met' then needed[name], met[#met + 1] = 'met', name end
    end
  end
  local owes, vanished = {}, {}
  for i, score in ipairs(#names > 0 and redis.call('ZMSCORE', OWED, unpack(names)) or {}) do
    owes[names[i]] = score
    if score and tonumber(score) >= way.HELD then needed[names[i]] = true end
  end
  local past, failing = way.read_past(KEYS[24], again and {} or names), {} -- failing: schedules with the option PauseAfter, of which an occurrence dies now
  for _, i in ipairs(others_held) do
    local name = schedule_of[i]
    if name and ARGV[at_other + 4 * i - 3] == 'x' and string.find(past.texts[name] or '', ' %d+:%d*:[%d,]*$') then
      needed[name] = needed[name] or true
      failing[#failing + 1] = name
    end
  end
  local flights = way.read_flights(OPEN, BEHIND, SCHEDULES, CURSORS, names, needed)
  way.read_vanished(vanished, flights, ids, schedule, SESSIONS)
  touched = #names
  call = way.new_call(ids, from, bodies, crashes, schedule, planned, flights, owes, vanished, now_text, past)
  for _, id in ipairs(void and ids or {}) do
    if void[id] and id ~= SELF then way.revoke(call, id, void[id]) end
  end
  if grouped then
    call.grouped = grouped.held
    call.give_way = function(id, other) return grouped.fn.give_way(grouped, id, other, LINE, PLACES, KEYS[31], KEYS[32], KEYS[33]) end
  end
  local reads = {}
  for name in pairs(needed) do reads[#reads + 1] = name end
  for i, text in ipairs(#reads > 0 and redis.call('HMGET', KEYS[28], unpack(reads)) or {}) do call.zones[reads[i]] = text end
  if #failing > 0 then
    local read
    read, call.add_death, way.save_streaks = way.streaks()
    read(call, failing, DUE, JOBS, CRASHES)
    redis.call('HLEN', KEYS[27])
    local fence = state[1] and #state[1] <= 16 and tonumber(state[1]) or 0
    call.draw = math.max(now_us, fence < 9e15 and fence + 1 or 0)
  end
  if again then
    way.answer_again(call, string.match(header, ' ([jedn]+)$') or '')
  else
    way.read_waiting(call, DUE)
  end
  if way.manual then way.read_manual(call.past, KEYS[24], way.manual) end
end
