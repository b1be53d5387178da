-- joins: jobs of groups that a take moves to line, from due and from lists of parked jobs, before it picks the ones to take.
-- needs: limits clock queuelimit starts line groups light turns

-- A job of a group never starts from due, from ready or from a list of parked jobs: there it would not wait for its turn. A take that finds it there adds
-- it to line: at its place, if it has one, else at the end. all.joins has these jobs.

-- add_join records that a job moves to line. entry: its entry in places; from: d, r, or which list of parked jobs; member: its member there.
local function add_join(all, id, entry, from, member)
  local place, group = string.match(entry, '^(%d+) (.+)$')
  if place then all.joins[#all.joins + 1] = { id = id, place = place, group = group, from = from, member = member } end
end

-- bounce_parked removes the jobs of groups from the candidates ids, which are parked ones. from: which list each is in; member_of: candidate of the
-- shared list -> its member there, or nil. places: the key.
local function bounce_parked(all, ids, from, member_of, places)
  if #ids == 0 then return end
  local entries, n, left = redis.call('HMGET', places, unpack(ids)), 0, #ids
  for i = 1, left do
    if entries[i] and #all.joins < MAX_ITEMS then
      add_join(all, ids[i], entries[i], from[i], member_of and member_of[ids[i]] or ids[i])
    elseif not entries[i] then
      n = n + 1
      ids[n], from[n] = ids[i], from[i]
    end
  end
  for i = n + 1, left do ids[i], from[i] = nil, nil end
end

-- split_ready returns the jobs at the head of ready, list, that belong to no group, up to the first occurrence that does. Those before all others join line:
-- all.fronted is how many. all.cut: some are left out. places: the key.
local function split_ready(all, list, places)
  if not string.find(table.concat(list), '@', 1, true) then return list end
  local entries, rest, at = redis.call('HMGET', places, unpack(list)), {}, 1
  while list[at] and entries[at] and #all.joins < MAX_ITEMS do
    add_join(all, list[at], entries[at], 'r', list[at])
    at = at + 1
  end
  all.fronted = at - 1
  for i = at, #list do
    all.cut = all.cut or entries[i] and true
    if not all.cut then rest[#rest + 1] = list[i] end
  end
  return rest
end

-- split_due returns those of the due jobs that belong to no group. If there are others, it reads more of due. left: how many are wanted; due,
-- places: the keys.
local function split_due(all, list, left, due, places)
  local rest, found = {}, false
  for round = 1, 2 do
    if round == 2 then
      if not found or #list < left then break end
      list = redis.call('ZRANGEBYSCORE', due, '-inf', whole(now_ms), 'LIMIT', whole(left), whole(MAX_ITEMS))
    end
    for i, entry in ipairs(#list > 0 and redis.call('HMGET', places, unpack(list)) or {}) do
      if entry then
        found = true
        if #all.joins < MAX_ITEMS then add_join(all, list[i], entry, 'd', list[i]) end
      elseif #rest < left then
        rest[#rest + 1] = list[i]
      end
    end
  end
  return rest
end

-- prepare_turns lets the jobs of all.joins wait in their groups, and reads the groups that may get n slots, also those whose next start has become
-- free. slots, and what it returns: as read_turns. line, places, turns, groups, grules, opens: the keys.
local function prepare_turns(all, n, slots, line, places, turns, groups, grules, opens)
  local names, open = {}, all.rules and redis.call('ZRANGEBYSCORE', opens, '-inf', whole(now_ms), 'LIMIT', '0', whole(MAX_ITEMS)) or {}
  for i, job in ipairs(all.joins) do names[i] = job.group end
  if all.rules and all.last > now_us + STEPPED_US then -- the clock stepped back: instants in opens may be further ahead than a Per
    local n = redis.call('ZCARD', opens)
    local first = now_us % math.max(n - MAX_ITEMS, 1)
    for _, name in ipairs(redis.call('ZRANGE', opens, whole(first), whole(first + MAX_ITEMS - 1))) do names[#names + 1] = name end
  end
  for _, name in ipairs(open) do names[#names + 1] = name end
  read_groups(all, names, turns, groups, grules)
  if all.blocked then find_blockers(all.list, line, places) end
  for _, job in ipairs(all.joins) do
    if tonumber(job.place) == 0 then
      local stem, digit = draw_place(all)
      job.place = stem .. digit
    end
    job.lined = job.group .. '\t' .. job.place .. '\t' .. job.id
    add_waiting(all.of[job.group], job.lined)
  end
  for _, name in ipairs(names) do place_now(all, all.of[name], line) end
  return read_turns(all, n, slots, turns, groups, grules, line, places)
end

-- share_out divides n slots among jobs of ready, of due and of groups, in turn; sizes: how many there are of each; first: which of the three is first. Returns
-- the order, a number for each slot, how many of each, and which one would be next.
local function share_out(n, sizes, first)
  local order, counts, at = {}, { 0, 0, 0 }, first
  while #order < n do
    local tries = 0
    while tries < 3 and counts[at + 1] >= sizes[at + 1] do at, tries = (at + 1) % 3, tries + 1 end
    if tries == 3 then break end
    order[#order + 1], counts[at + 1] = at, counts[at + 1] + 1
    at = (at + 1) % 3
  end
  return order, counts, at
end

-- save_joins writes the moves to line. line, places: the keys. The caller removes the jobs from the places where they were.
local function save_joins(all, line, places)
  local lined, placed = {}, {}
  for i, job in ipairs(all.joins) do
    if not job.withdrawn then lined[#lined + 1], lined[#lined + 2] = '0', job.lined end
    placed[2 * i - 1], placed[2 * i] = job.id, job.place .. ' ' .. job.group
  end
  if #lined > 0 then redis.call('ZADD', line, unpack(lined)) end
  if #placed > 0 then redis.call('HSET', places, unpack(placed)) end
end

-- give_way takes the occurrence other out of line, for which a schedule is held, if the picked occurrence id of the same schedule is the blocker of a
-- group whose jobs run in order: each would wait for the other. Returns whether it did; then all.gave has the member of line, unless it was not there yet.
-- line, places, turns, groups, grules: the keys.
local function give_way(all, id, other, line, places, turns, groups, grules)
  local pick
  for i, picked in ipairs(all.picks) do
    if picked == other then return false end
    if picked == id then pick = i end
  end
  if not pick or not all.picked[pick] or not all.picked[pick].rule.ordered or all.kept[pick].blocker ~= id then return false end
  local member, name
  for _, job in ipairs(all.joins) do
    if job.id == other and not job.withdrawn then job.withdrawn, member, name = true, job.lined, job.group end
  end
  if not member then
    -- read after write: only now it is known that it matters
    local entry = redis.call('HGET', places, other)
    member = entry and line_member(other, entry)
    if not member or not redis.call('ZSCORE', line, member) then return false end
    name, all.gave[#all.gave + 1] = string.match(entry, ' (.+)$'), member
    read_groups(all, { name }, turns, groups, grules)
  end
  local g = all.of[name]
  g.out = g.out or {}
  g.out[member], g.has, g.idle, all.left[g] = true, nil, nil, true
  return true
end

-- leave_groups records that occurrences and members of cancelled batches have ended, or do not keep the next jobs of their groups from starting: those of gone
-- leave places too. void: the members that end, as keys; nil: none. places, turns, groups, grules: the keys. all.ended, all.placed: see work/groups.lua.
local function leave_groups(all, gone, behind, void, places, turns, groups, grules)
  local ids, is_gone, names, group_of = {}, {}, {}, {}
  for _, id in ipairs(gone) do
    if is_occurrence(id) or void and void[id] then ids[#ids + 1], is_gone[id] = id, true end
  end
  for _, id in ipairs(behind) do ids[#ids + 1] = id end
  -- read after write: what the settlements and the takes mean for schedules is known only now
  for i, entry in ipairs(#ids > 0 and redis.call('HMGET', places, unpack(ids)) or {}) do
    group_of[i] = entry and string.match(entry, ' (.+)$')
    if group_of[i] then names[#names + 1] = group_of[i] end
  end
  read_groups(all, names, turns, groups, grules)
  for i, id in ipairs(ids) do
    local g = group_of[i] and all.of[group_of[i]]
    if g then
      unblock(g, id)
      g.has, g.resumes, g.idle = nil, nil, nil
      if is_gone[id] then all.ended[#all.ended + 1] = id end
    end
  end
  for _, job in ipairs(all.joins) do job.withdrawn = job.withdrawn or is_gone[job.id] end
  for g in pairs(all.left) do g.has, g.resumes, g.idle = nil, nil, nil end
  local placed = {}
  for i = 1, #all.placed, 2 do
    if not is_gone[all.placed[i]] then placed[#placed + 1], placed[#placed + 2] = all.placed[i], all.placed[i + 1] end
  end
  all.placed = placed
end
