-- turns: which jobs of groups a take gets, and in which order.
-- needs: clock queuelimit line groups

-- A slot that is free goes to a group in turns. With c = (F + 1) / W, the share that each unit of weight has when this slot is taken:
--   1. a group that lacks a whole slot, flights + 1 <= c * weight, comes first: the one with the least flights / weight, then the least tag;
--   2. else the least tag among the groups that have a right to a part of a slot: flights < c * weight. There is always one, because the sum of
--      flights is F, less than the sum of c * weight.
-- The take carries this out on the tables of the groups before its first write: so it knows which jobs it gets while it still may change its mind.
local SHARES = 16 -- how many different shares of groups compete at most
local CHUNK = 16 -- how many groups are read of each share after the first ones

-- A waiting job is a member of line, and jobs that the call itself adds to line are in the lists added and, if they are taken, never get there.

-- add_waiting adds a job to those of its group that wait; it is not in line yet.
local function add_waiting(g, member)
  g.added = g.added or {}
  local list = g.added
  local at = #list + 1
  while at > 1 and list[at - 1] > member do at = at - 1 end
  table.insert(list, at, member)
  if g.blocker and string.sub(member, #g.name + 19) == g.blocker then g.resumes = member end
end

-- next_waiting returns the member of the job of the group that starts next; nil: no job waits. line: the key.
local function next_waiting(g, line)
  if not g.read then g.read = {} end
  if not g.out then g.out = {} end -- members that leave line
  if g.blocker and g.rule.ordered and g.resumes and not g.out[g.resumes] then return g.resumes end
  while true do
    if not g.read[g.at] and not g.complete then
      local n = math.max(#g.read, 2)
      local first = g.read[1] and '(' .. g.read[#g.read] or '[' .. g.name .. '\t'
      local list = redis.call('ZRANGEBYLEX', line, first, '(' .. g.name .. '\n', 'LIMIT', '0', whole(n))
      for i = 1, #list do g.read[#g.read + 1] = list[i] end
      g.complete = #list < n
    end
    local one, other = g.read[g.at], nil
    if g.added then
      for _, member in ipairs(g.added) do
        if not other and not g.out[member] then other = member end
      end
    end
    if not (one and g.out[one]) then return other and (not one or other < one) and other or one end
    g.at = g.at + 1
  end
end

-- find_blockers looks up whether the blockers of groups whose jobs run in order wait in line. line, places: the keys.
local function find_blockers(list, line, places)
  for _, g in ipairs(list) do
    if g.blocker and g.rule.ordered and not g.looked then
      local entry = redis.call('HGET', places, g.blocker)
      local member = entry and line_member(g.blocker, entry)
      if member and redis.call('ZSCORE', line, member) then g.resumes = member end
    end
    g.looked = true
  end
end

-- job_of returns the ID of a job of the group, from its member of line.
local function job_of(g, member)
  return string.sub(member, #g.name + 19) -- behind a tab, the 16 digits of its place and a tab
end

-- place_now decides where a group belongs before the script writes.
local function place_now(all, g, line)
  if g.read or g.where == '-' or g.blocker then
    g.has = next_waiting(g, line) ~= nil
  else
    g.has = true -- as where says; nothing has left its line yet
  end
  g.resumes, g.idle = g.resumes or false, nil
  place_group(all, g, g.has, g.resumes)
end

-- read_turns reads the groups that may get n slots. turns, groups, grules, line, places: the keys.
local function read_turns(all, n, turns, groups, grules, line, places)
  local names = {}
  local list = redis.call('ZRANGE', turns, '0', whole(n + SHARES - 1), 'WITHSCORES')
  local shares, last = 0, nil
  for i = 2, #list, 2 do
    if list[i] ~= last then shares, last = shares + 1, list[i] end
  end
  local full = #list == 2 * (n + SHARES)
  all.many = #list > 2 * n
  for i = 1, #list, 2 do names[#names + 1] = string.sub(list[i], 40) end -- behind the tag and a tab
  local most = (all.f + n) / math.max(all.w, 1)
  while full and shares < SHARES and (tonumber(last) or most) < most do
    list = redis.call('ZRANGEBYSCORE', turns, '(' .. last, '+inf', 'WITHSCORES', 'LIMIT', '0', whole(math.min(n, CHUNK)))
    if #list == 0 then break end
    last, shares = list[2], shares + 1
    for i = 1, #list, 2 do
      if list[i + 1] == last then names[#names + 1] = string.sub(list[i], 40) end
    end
  end
  all.candidates = names
  if #names == 0 then return end
  local idle = {} -- tune_groups leaves these out, unless they get a slot
  for _, name in ipairs(names) do
    if not all.of[name] then idle[#idle + 1] = name end
  end
  read_groups(all, names, turns, groups, grules)
  local new = {}
  for _, name in ipairs(idle) do all.of[name].idle = true end
  for _, name in ipairs(names) do
    local g = all.of[name]
    if (all.rules or g.weight ~= 1) then new[#new + 1] = g end -- a rule may have changed since
  end
  find_blockers(new, line, places)
  for _, g in ipairs(new) do place_now(all, g, line) end
end

-- file_group adds a group to the groups with as many flights and the same weight, in the order of tags.
local function file_group(files, g)
  local key = g.flights .. '/' .. g.weight
  local file = files[key]
  if not file then
    file = { flights = g.flights, weight = g.weight, first = 1, last = 0 }
    files[key], files[#files + 1] = file, file
  end
  local at = file.last + 1
  while at > file.first and file[at - 1].tag > g.tag do
    file[at] = file[at - 1]
    at = at - 1
  end
  file[at], file.last = g, file.last + 1
end

-- file_all adds all groups that may start a job, those of turns first, which are in order; fits: a condition, or nil.
local function file_all(all, files, fits)
  local filed = {}
  for _, name in ipairs(all.candidates) do
    local g = all.of[name]
    if not filed[g] and g.where == 't' and (not fits or fits(all, g)) then file_group(files, g) end
    filed[g] = true
  end
  for _, g in ipairs(all.list) do
    if not filed[g] and g.where == 't' and (not fits or fits(all, g)) then file_group(files, g) end
  end
end

-- next_turn returns the file whose first group has the next slot; nil: no group may start a job.
local function next_turn(all, files)
  local forced, other, any
  for i = 1, #files do
    local file = files[i]
    local g = file[file.first]
    if g then
      local flights, weight = file.flights, file.weight
      if (flights + 1) * all.w <= (all.f + 1) * weight then
        local least = forced and forced.flights * weight - flights * forced.weight
        if not forced or least > 0 or least == 0 and g.tag < forced[forced.first].tag then forced = file end
      elseif flights * all.w < (all.f + 1) * weight then
        if not other or g.tag < other[other.first].tag then other = file end
      end
      any = any or file
    end
  end
  return forced or other or any -- any: W or F is wrong
end

-- start_job starts a job of a group, with this member.
local function start_job(all, g, member, line)
  g.out[member], g.resumes = true, nil
  add_flight(all, g, job_of(g, member))
  place_now(all, g, line)
end

-- keep_state keeps what start_job changes, so that it can be undone.
local function keep_state(g)
  local limit
  if g.limit then
    limit = { used = g.limit.used, state = g.limit.state, pairs = {} }
    for i, pair in ipairs(g.limit.pairs) do limit.pairs[i] = { last = pair.last, span = pair.span, n = pair.n } end
  end
  g.kept = { where = g.where, flights = g.flights, weight = g.weight, counted = g.counted, turns = g.turns, micros = g.micros, arrival = g.arrival, tag = g.tag,
    blocker = g.blocker, resumes = g.resumes, limit = limit }
end

-- goes_ahead reports whether a job of the group may be taken ahead: it would keep others of the group from starting while it waits for a slot of
-- its worker. So of a group whose starts are limited, or whose jobs run in order, none is; and of one with a limit of flights at most half. Of
-- many groups with one flight each, one of each may be taken ahead: else each slot would be idle for a round trip after each job.
local function goes_ahead(all, g)
  local running = g.rule.running
  return g.rule.starts == 0 and not g.rule.ordered and (running == 0 or g.flights + 1 <= math.floor(running / 2) or running == 1 and all.many)
end

-- pick_turns picks at most n jobs to take, those from ahead on to take ahead: all.picks has for each its group, its member of line and its ID.
-- line: the key.
local function pick_turns(all, n, ahead, line)
  local picks, files, aheads = {}, {}, false
  all.picks, all.kept = picks, { turns = all.turns, micros = all.micros, w = all.w, f = all.f }
  file_all(all, files)
  while #picks < n do
    if #picks + 1 >= ahead and not aheads then
      aheads, files = true, {}
      file_all(all, files, goes_ahead)
    end
    local file = next_turn(all, files)
    if not file then break end
    local g = file[file.first]
    file[file.first], file.first = nil, file.first + 1
    local member = next_waiting(g, line)
    if member then
      if not g.kept then keep_state(g) end
      start_job(all, g, member, line)
      picks[#picks + 1] = { group = g, member = member, id = job_of(g, member) }
    else
      place_now(all, g, line)
    end
    if g.where == 't' and (not aheads or goes_ahead(all, g)) then file_group(files, g) end
  end
end

-- keep_picks undoes the picks whose jobs are not taken. keeps[id]: it is taken; leaves[id]: it is not, and leaves line too. Returns the members that
-- leave line. line: the key.
local function keep_picks(all, keeps, leaves, line)
  local members, undone = {}, false
  for _, pick in ipairs(all.picks) do undone = undone or not keeps[pick.id] end
  if undone then
    for name, value in pairs(all.kept) do all[name] = value end
    for _, pick in ipairs(all.picks) do
      local g = pick.group
      for name, value in pairs(g.kept or {}) do
        if name ~= 'limit' then g[name] = value end
      end
      if g.kept and g.limit then g.limit.used, g.limit.state, g.limit.pairs = g.kept.limit.used, g.kept.limit.state, g.kept.limit.pairs end
      if g.kept then
        g.blocker, g.resumes = g.kept.blocker, g.kept.resumes
        g.at, g.out, g.kept, g.has = 1, {}, nil, nil -- tune_groups reads its line, if no job of it is taken
      end
    end
    for _, pick in ipairs(all.picks) do
      if leaves[pick.id] then
        pick.group.out[pick.member] = true
        if pick.member == pick.group.resumes then pick.group.resumes = nil end
        pick.group.has = nil -- tune_groups reads its line
      end
    end
  end
  for _, pick in ipairs(all.picks) do
    if undone and keeps[pick.id] then start_job(all, pick.group, pick.member, line) end
    if keeps[pick.id] or leaves[pick.id] then members[#members + 1] = pick.member end
  end
  return members
end
