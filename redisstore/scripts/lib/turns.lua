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
  local read, out = g.read, g.out -- the first members of its line, of which that at g.at is next; members that leave line
  if g.blocker and g.rule.ordered and g.resumes and not (out and out[g.resumes]) then return g.resumes end
  if not read then
    read = redis.call('ZRANGEBYLEX', line, '[' .. g.name .. '\t', '(' .. g.name .. '\n', 'LIMIT', '0', '2')
    g.read, g.at = read, 1
    if #read < 2 then g.complete = true end
  end
  while true do
    local one, other = read[g.at], nil
    if not one and not g.complete then
      local n = #read
      local list = redis.call('ZRANGEBYLEX', line, '(' .. read[n], '(' .. g.name .. '\n', 'LIMIT', '0', whole(n))
      for i = 1, #list do read[n + i] = list[i] end
      one, g.complete = list[1], #list < n
    end
    if g.added then
      for _, member in ipairs(g.added) do
        if not other and not (out and out[member]) then other = member end
      end
    end
    if not (one and out and out[one]) then return other and (not one or other < one) and other or one end
    g.at = g.at + 1
  end
end

-- leaves_line records that a job of the group leaves its line.
local function leaves_line(g, member)
  if g.read and g.read[g.at] == member then
    g.at = g.at + 1
  else
    g.out = g.out or {}
    g.out[member] = true
  end
end

-- find_blockers looks up whether the blockers of groups whose jobs run in order wait in line. line, places: the keys.
local function find_blockers(list, line, places)
  for _, g in ipairs(list) do
    if g.blocker and g.rule.ordered and not g.looked then
      g.looked = true
      local entry = redis.call('HGET', places, g.blocker)
      local member = entry and line_member(g.blocker, entry)
      if member and redis.call('ZSCORE', line, member) then g.resumes = member end
    end
  end
end

-- job_of returns the ID of a job of the group, from its member of line.
local function job_of(g, member)
  return string.sub(member, #g.name + 19) -- behind a tab, the 16 digits of its place and a tab
end

-- place_now decides where a group belongs before the script writes.
local function place_now(all, g, line)
  local read, has = g.read, true -- as where says, as long as nothing has left its line
  if g.where == '-' or g.blocker or read and (not read[g.at] or g.out) then has = next_waiting(g, line) ~= nil end
  g.has, g.resumes, g.idle = has, g.resumes or false, nil
  place_group(all, g, has, g.resumes)
end

-- read_ranks adds the groups of turns from one rank to another to names. all.shares: how many different shares of groups it has read, as turns has them;
-- all.last_share: the last of these. Returns whether there may be more groups. turns, groups, grules: the keys.
local function read_ranks(all, names, from, to, turns, groups, grules)
  local members, first = redis.call('ZRANGE', turns, whole(from), whole(to)), #all.list + 1
  local more = #members > to - from
  for i, member in ipairs(members) do names[from + i] = string.sub(member, 40) end -- behind the tag and a tab
  if #members > 0 then read_groups(all, names, turns, groups, grules) end
  for i = first, #all.list do all.list[i].idle = true end -- tune_groups leaves these out, unless they get a slot
  for i = from + 1, more and #names or 0 do
    local g = all.of[names[i]]
    local flights, weight = g.counted, g.weight
    if not g.idle then flights, weight = string.match(g.text or '', '^t(%d+) (%d+)') end -- the call has changed it
    local share = flights and flights / weight or all.last_share
    if share ~= all.last_share then all.shares, all.last_share = all.shares + 1, share end
  end
  return more
end

-- read_turns reads the groups that may get n slots. turns, groups, grules, line, places: the keys.
local function read_turns(all, n, turns, groups, grules, line, places)
  local names, of, list = {}, all.of, all.list
  all.known, all.many = #list, all.rules and redis.call('ZCARD', turns) > n -- known: how many groups of the list the call has changed, or may have
  all.shares, all.last_share = 0, nil
  local size = n < SHARES and n + SHARES or n
  local more = read_ranks(all, names, 0, size - 1, turns, groups, grules)
  -- many groups of one share are enough for all slots
  if more and size == n and all.shares > 1 then more = read_ranks(all, names, n, n + SHARES - 1, turns, groups, grules) end
  local shares, last = all.shares, all.last_share
  local count, most = #names, (all.f + n) / math.max(all.w, 1)
  while more and last and shares < SHARES and last < most do
    local above, below = string.format('(%.17g', last), string.format('(%.17g', most)
    local next_ones = redis.call('ZRANGEBYSCORE', turns, above, below, 'WITHSCORES', 'LIMIT', '0', whole(math.min(n, CHUNK)))
    last, shares = tonumber(next_ones[2]), shares + 1
    for i = 1, #next_ones, 2 do
      if tonumber(next_ones[i + 1]) == last then names[#names + 1] = string.sub(next_ones[i], 40) end
    end
  end
  if #names > count then
    local first = #list + 1
    read_groups(all, names, turns, groups, grules)
    for i = first, #list do list[i].idle = true end
  end
  local new = {} -- a rule may have changed since
  for _, name in ipairs(names) do
    local g = of[name]
    if all.rules or g.weight ~= 1 then new[#new + 1] = g end
  end
  find_blockers(new, line, places)
  for _, g in ipairs(new) do place_now(all, g, line) end
end

-- file_group adds a group to the groups with as many flights and the same weight, in the order of tags. last: its tag is the last one.
local function file_group(files, g, last)
  local key = g.flights * 1024 + g.weight -- a weight is at most 1,000
  local file = files[key]
  if not file then
    file = { flights = g.flights, weight = g.weight, first = 1, last = 0 }
    files[key], files.list[#files.list + 1] = file, file
  end
  local at, tag = file.last + 1, g.tag
  file.last = at
  while not last and at > file.first and file[at - 1].tag > tag do
    file[at] = file[at - 1]
    at = at - 1
  end
  file[at] = g
end

-- file_groups returns the files of all groups that may start a job.
local function file_groups(all)
  local files, list = { list = {} }, all.list
  for i = all.known + 1, #list do -- as turns has them: in order
    local g = list[i]
    if g.where == 't' then file_group(files, g, g.idle) end
  end
  for i = 1, all.known do
    local g = list[i]
    if g.where == 't' then file_group(files, g) end
  end
  return files
end

-- next_turn returns the file whose first group has the next slot; nil: no group may start a job.
local function next_turn(all, files)
  local forced, other, any
  for _, file in ipairs(files.list) do
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
local function start_job(all, g, member, id, line)
  leaves_line(g, member)
  g.resumes = nil
  add_flight(all, g, id)
  place_now(all, g, line)
end

-- keep_limit returns a copy of what start_job changes of the limit of a group.
local function keep_limit(limit)
  local kept = { used = limit.used, state = limit.state, pairs = {} }
  for i, pair in ipairs(limit.pairs) do kept.pairs[i] = { last = pair.last, span = pair.span, n = pair.n } end
  return kept
end

-- goes_ahead reports whether a job of the group may be taken ahead: it would keep others of the group from starting while it waits for a slot of
-- its worker. So of a group whose starts are limited, or whose jobs run in order, none is; and of one with a limit of flights at most half. Of
-- many groups with one flight each, one of each may be taken ahead: else each slot would be idle for a round trip after each job.
local function goes_ahead(all, g)
  local running = g.rule.running
  return g.rule.starts == 0 and not g.rule.ordered and (running == 0 or g.flights + 1 <= math.floor(running / 2) or running == 1 and all.many)
end

-- pick_turns picks at most n jobs to take, those from ahead on to take ahead: all.picks has their IDs, all.members their members of line, and all.picked
-- their groups. line: the key.
local function pick_turns(all, n, ahead, line)
  local picks, members, picked, tags, kept, files = {}, {}, {}, {}, {}, file_groups(all)
  -- what keep_picks needs to undo a pick: tags: the tag before; kept, if the group has starts or an order: what start_job changes of them
  all.picks, all.members, all.picked, all.tags, all.kept = picks, members, picked, tags, kept
  all.before = { turns = all.turns, micros = all.micros, w = all.w, f = all.f }
  local count = 0
  while count < n do
    local file = next_turn(all, files)
    if not file then break end
    local first = file.first
    local g = file[first]
    file.first = first + 1
    local fits, left = count + 1 < ahead or goes_ahead(all, g), n - count
    local member = fits and next_waiting(g, line)
    if member then
      local id = job_of(g, member)
      count = count + 1
      picks[count], members[count], picked[count], tags[count] = id, member, g, g.tag
      if g.limit or g.rule.ordered then kept[count] = { blocker = g.blocker, resumes = g.resumes, limit = g.limit and keep_limit(g.limit) } end
      start_job(all, g, member, id, line)
    elseif fits then
      place_now(all, g, line)
    end
    -- without rules W falls by at most one a pick: a group that will have too many flights even then is not filed again
    if fits and g.where == 't' and (all.rules or g.flights * (all.w - left) < all.f + left) then file_group(files, g) end
  end
end

-- keep_picks undoes the picks whose jobs are not taken. keeps[id]: it is taken; leaves[id]: it is not, and leaves line too. Returns the members that
-- leave line. line: the key.
local function keep_picks(all, keeps, leaves, line)
  local picks, members, undone = all.picks, {}, false
  for _, id in ipairs(picks) do undone = undone or not keeps[id] end
  if not undone then return all.members or members end
  for name, value in pairs(all.before) do all[name] = value end
  for i = #picks, 1, -1 do
    local g, kept = all.picked[i], all.kept[i]
    g.where, g.flights, g.tag = 't', g.flights - 1, all.tags[i]
    g.counted = g.flights
    if kept then
      g.blocker, g.resumes = kept.blocker, kept.resumes
      if g.limit then g.limit.used, g.limit.state, g.limit.pairs = kept.limit.used, kept.limit.state, kept.limit.pairs end
    end
    g.at, g.out, g.has = 1, nil, nil -- tune_groups reads its line, if no job of it is taken
  end
  for i, id in ipairs(picks) do
    if leaves[id] then
      local g, member = all.picked[i], all.members[i]
      leaves_line(g, member)
      if member == g.resumes then g.resumes = nil end
      g.has = nil -- tune_groups reads its line
    end
  end
  for i, id in ipairs(picks) do
    if keeps[id] then start_job(all, all.picked[i], all.members[i], id, line) end
    if keeps[id] or leaves[id] then members[#members + 1] = all.members[i] end
  end
  return members
end
