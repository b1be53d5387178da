-- turns: which jobs of groups a take gets, and in which order.
-- needs: clock queuelimit starts line groups light

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
    local name = g.name
    read = redis.call('ZRANGEBYLEX', line, '[' .. name .. '\t', '(' .. name .. '\n', 'LIMIT', '0', '2')
    g.read, g.at = read, 1
    if not read[2] then g.complete = true end
    if not out and not g.added then return read[1] end
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
  local read, at = g.read, g.at
  if read and read[at] == member then
    g.at = at + 1
  else
    g.out = g.out or {}
    g.out[member] = true
  end
end

-- find_blockers looks up whether the blockers of groups of list whose jobs run in order wait in line. line, places: the keys.
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
  return string_sub(member, #g.name + 19) -- behind a tab, the 16 digits of its place and a tab
end

-- place_now decides where a group belongs before the script writes.
local function place_now(all, g, line)
  local read, has = g.read, true -- as where says, as long as nothing has left its line
  local starts = g.starts and not g.blocker
  if (g.usual or starts) and g.where == 't' and (not read or read[g.at] and not g.out) then
    local rule, flights = g.rule, g.flights
    -- as place_group does it. A group in turns of which the starts were not counted had a free one when it came there
    if flights < rule.simple and g.weight == rule.weight and not (starts and g.used and g.used >= rule.starts) then
      local f = all.f + flights - g.counted
      all.f, g.counted, g.has, g.resumes = f > 0 and f or 0, flights, true, false
      if g.idle then g.idle = nil end
      return
    end
  end
  if g.where == '-' or g.blocker or read and (not read[g.at] or g.out) then has = next_waiting(g, line) ~= nil end
  g.has, g.resumes, g.idle = has, g.resumes or false, nil
  place_group(all, g, has, g.resumes)
end

-- share_in_turns returns flights / weight of a group as turns has it; nil: it is not there.
local function share_in_turns(all, name)
  local g, at = all.of[name], all.idle and all.idle.at[name]
  if at then return all.idle.flights[at] end
  local flights, weight = g.counted, g.weight
  if not g.idle then flights, weight = string.match(g.text or '', '^t(%d+) (%d+)') end -- the call has changed it
  return flights and flights / weight
end

-- read_ranks adds the groups of turns from one rank to another to names. all.shares: how many different shares of groups it has read, as turns has them;
-- all.last_share: the last of these. Returns whether there may be more groups. turns, groups, grules: the keys.
local function read_ranks(all, names, from, to, turns, groups, grules)
  local members, first = redis.call('ZRANGE', turns, whole(from), whole(to)), #all.list + 1
  local list, n = all.list, #members
  local more = n > to - from
  for i = 1, n do names[from + i] = string_sub(members[i], 40) end -- behind the tag and a tab
  if n > 0 then read_groups(all, all.idle and list_idle(all, members, names, from, groups, grules) or names, turns, groups, grules) end
  for i = first, #list do
    local g = list[i]
    if g.has == nil then g.idle = true end -- tune_groups leaves these out, unless they get a slot
  end
  if not more then return false end
  local first_share = share_in_turns(all, names[from + 1])
  local equal = first_share and first_share == share_in_turns(all, names[from + n]) -- then all are: they are in the order of their shares
  for i = equal and from + n or from + 1, from + n do
    local share = share_in_turns(all, names[i]) or all.last_share
    if share ~= all.last_share then all.shares, all.last_share = all.shares + 1, share end
  end
  return true
end

-- read_turns reads the groups that may get n slots, of which slots are free: the others are for jobs to take ahead. Returns how many slots groups may get:
-- only the free ones if the queue's rule lets no job be taken ahead, because then nearly all groups would be read in vain. turns, groups, grules, line,
-- places: the keys.
local function read_turns(all, n, slots, turns, groups, grules, line, places)
  local names, of, list = {}, all.of, all.list
  all.known, all.many = #list, all.rules and redis.call('ZCARD', turns) > n -- known: how many groups of the list the call has changed, or may have
  if not all.default then read_default(all, grules) end
  local default = all.default
  if all.rules and slots < n then
    if default.starts > 0 or default.ordered then n = slots end
    if n == 0 then return 0 end
  end
  if not all.purge and default.simple > 0 and default.weight == 1 then
    all.idle = { read = read_idle, at = {}, names = {}, members = {}, flights = {}, picked = {}, tags = {}, counts = {}, stays = {}, reads = {}, gaps = 0 }
    if default.starts > 0 then
      local idle = all.idle
      idle.texts, idle.starts, idle.used, idle.old_starts, idle.old_used, idle.scratch = {}, {}, {}, {}, {}, { rule = default }
    end
  end
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
    for i = first, #list do
      local g = list[i]
      if g.has == nil then g.idle = true end
    end
  end
  local new = {} -- a rule may have changed since
  for i = 1, (all.rules or all.weighted) and #names or 0 do
    local g = of[names[i]]
    local rule = g and g.rule
    local steady = not g or g.where == 't' and g.flights < rule.simple and g.weight == rule.weight and
      (g.usual or g.starts and not g.blocker and starts_of.count(g) < rule.starts)
    if not steady and all.rules or g and g.weight ~= 1 then new[#new + 1] = g end
  end
  if all.blocked then find_blockers(new, line, places) end
  for _, g in ipairs(new) do place_now(all, g, line) end
  return n
end

-- file_key returns the key in files of the file of groups with this number of flights and this weight, which is at most 1,000; it is negative as in starts.lua.
local function file_key(flights, weight)
  return -(flights * 1024 + weight)
end

-- file_of returns that file. first, last: of its tables, in the order of tags; next, stop: of its idle groups, likewise.
local function file_of(files, flights, weight)
  local key = file_key(flights, weight)
  local file = files[key]
  if not file then
    file = { flights = flights, weight = weight, first = 1, last = 0, next = 1, stop = 0 }
    files[key], files.list[#files.list + 1] = file, file
  end
  return file
end

-- file_group adds a group to the groups with as many flights and the same weight, in the order of tags. last: its tag is the last one. Returns their file.
local function file_group(files, g, last)
  local file = file_of(files, g.flights, g.weight)
  local at, tag = file.last + 1, g.tag
  file.last = at
  while not last and at > file.first and file[at - 1].tag > tag do
    file[at] = file[at - 1]
    at = at - 1
  end
  file[at] = g
  return file
end

-- may_start reports whether a group in turns has a free start: if a rule has changed since, it may have none, and then leaves turns. line: the key.
local function may_start(all, g, line)
  if not g.starts or starts_of.count(g) < g.rule.starts then return true end
  place_now(all, g, line)
  return false
end

-- file_groups returns the files of all groups that may get one of n slots. line: the key.
local function file_groups(all, n, line)
  local files, list, file, flights, weight, at = { list = {} }, all.list, nil, nil, nil, nil
  for i = all.known + 1, #list do -- as turns has them: in order
    local g = list[i]
    if g.idle and g.where == 't' then
      if file and g.flights == flights and g.weight == weight then -- the same file as for the one before
        at = at + 1
        file[at] = g
      else
        if file then file.last = at end
        file = file_group(files, g, true)
        flights, weight, at = file.flights, file.weight, file.last
      end
    end
  end
  if file then file.last = at end
  local idle = all.idle
  local waiting = idle and idle.flights or {}
  local i, n_idle = 1, #waiting
  while i <= n_idle do -- in the order of their shares, so those with as many flights come one after the other
    local as, stop = waiting[i], waiting[i] == waiting[n_idle] and n_idle or i
    while stop < n_idle and waiting[stop + 1] == as do stop = stop + 1 end
    local one = as and file_of(files, as, 1)
    if one and one.stop == 0 then
      one.next, one.stop = i, stop
    else
      for k = i, as and stop or 0 do file_group(files, read_idle(all, k)) end -- turns has a wrong share
    end
    i = stop + 1
  end
  for i = 1, #list do -- the call has changed these, or may have
    local g = list[i]
    if not g.idle and g.where == 't' and may_start(all, g, line) then file_group(files, g) end
  end
  local heavy = 0 -- how much W may fall at most, in addition to 1 for each pick
  for i = 1, #list do
    local g = list[i]
    if g.where == 't' then heavy = heavy + g.weight - (g.usual and 1 or 0) end
  end
  all.heavy = heavy
  local light = all.light
  local left, tags, as, last = light and light.flights, light and light.tags, nil, nil -- last: the tag of the n-th one with as many flights as as, or a later one
  for i = 1, left and #left or 0 do
    flights = left[i]
    if flights and light.reads[i] and not light.reads[i][1] then flights = false end
    if flights and flights ~= as then
      file, as = files[file_key(flights, 1)], flights
      last = file and file[file.first + n - 1]
      last = last and last.tag or file and file.next + n + idle.gaps - 1 <= file.stop and idle.members[file.next + n + idle.gaps - 1]
    end
    -- if n groups with as many flights come before it, it gets no slot
    if flights and not (last and last < tags[i]) then
      local g = read_light(all, i)
      if may_start(all, g, line) then file_group(files, g) end
      as = nil
    end
  end
  return files
end

-- first_of returns the group of a file that is next: its table, or nil and the index of the idle group.
local function first_of(file, idle)
  local at, stop, g = file.next, file.stop, file[file.first]
  if at <= stop then
    local waiting = idle.flights
    while at <= stop and not waiting[at] do at = at + 1 end
    file.next = at
    if at <= stop and not (g and g.tag < idle.members[at]) then return nil, at end
  end
  return g
end

-- next_turn returns the file whose first group has the next slot, and the group as first_of; nil: no group may start a job.
local function next_turn(all, files)
  local list, idle, forced, other, any = files.list, all.idle, nil, nil, nil
  if list[1] and not list[2] then return list[1], first_of(list[1], idle) end
  for i = 1, #list do
    local file = list[i]
    local g, at = first_of(file, idle)
    if g or at then
      local flights, weight, tag = file.flights, file.weight, g and g.tag or idle.members[at]
      file.g, file.at, file.tag = g, at, tag
      if (flights + 1) * all.w <= (all.f + 1) * weight then
        local least = forced and forced.flights * weight - flights * forced.weight
        if not forced or least > 0 or least == 0 and tag < forced.tag then forced = file end
      elseif flights * all.w < (all.f + 1) * weight then
        if not other or tag < other.tag then other = file end
      end
      any = any or file
    end
  end
  local file = forced or other or any -- any: W or F is wrong
  if file then return file, file.g, file.at end
end

-- start_job starts a job of a group, with this member.
local function start_job(all, g, member, id, line)
  leaves_line(g, member)
  if g.resumes then g.resumes = nil end
  add_flight(all, g, id)
  place_now(all, g, line)
end

-- goes_ahead reports whether a job of a group with this rule and these flights may be taken ahead: it would keep others of the group from starting while
-- it waits for a slot of its worker. So of a group whose starts are limited, or whose jobs run in order, none is; and of one with a limit of flights at most half. Of
-- many groups with one flight each, one of each may be taken ahead: else each slot would be idle for a round trip after each job.
local function goes_ahead(all, rule, flights)
  local running = rule.running
  return rule.starts == 0 and not rule.ordered and (running == 0 or flights + 1 <= math.floor(running / 2) or running == 1 and all.many)
end

-- pick_turns picks at most n jobs to take, those from ahead on to take ahead: all.picks has their IDs, all.members their members of line, and all.picked
-- their groups (false: one of all.idle). line: the key.
local function pick_turns(all, n, ahead, line)
  local picks, members, picked, tags, kept, starts, used, files = {}, {}, {}, {}, {}, {}, {}, file_groups(all, n, line)
  -- what keep_picks needs to undo a pick: tags, starts, used: those before; kept, if the group has an order: what start_job changes of it
  all.picks, all.members, all.picked, all.tags, all.kept, all.starts, all.used = picks, members, picked, tags, kept, starts, used
  all.before = { turns = all.turns, micros = all.micros, w = all.w, f = all.f }
  local count, idle, picked_idle = 0, all.idle, all.idle and all.idle.picked
  while count < n do
    local file, g, at = next_turn(all, files)
    if not (g or at) then break end
    local left, fits, member, fresh, usual, started = n - count, count + 1 < ahead, nil, nil, nil, nil
    if at then
      file.next = at + 1
      fits = fits or goes_ahead(all, all.default, file.flights)
      if fits then
        member, g = pick_idle(all, at, count + 1, left, line)
        started, usual, fresh = not g, true, g and g.read
      end
    else
      file.first = file.first + 1
      fits = fits or goes_ahead(all, g.rule, g.flights)
      usual = g.usual or g.starts and not g.blocker and not g.rule.ordered
      if fits and usual and not g.read and not g.added and not g.out then
        local name = g.name
        fresh = redis.call('ZRANGEBYLEX', line, '[' .. name .. '\t', '(' .. name .. '\n', 'LIMIT', '0', '2')
        g.read, g.at, member = fresh, 1, fresh[1]
        if not fresh[2] then g.complete = true end
      elseif fits then
        member = next_waiting(g, line)
      end
    end
    if started then
      count = count + 1
      picks[count], members[count], picked[count], tags[count] = string_sub(member, #idle.names[at] + 19), member, false, false -- as job_of
    elseif member then
      local rule, limited = g.rule, g.starts
      local id = string_sub(member, #g.name + 19) -- as job_of
      count = count + 1
      picks[count], members[count], picked[count], tags[count] = id, member, g, g.tag
      if idle then picked_idle[count] = false end
      if limited then starts[count], used[count] = limited, g.used end
      if not usual and rule.ordered then kept[count] = { blocker = g.blocker, resumes = g.resumes } end
      if fresh and fresh[2] and g.flights + 1 < rule.simple and g.weight == rule.weight and not (limited and g.used + 1 >= rule.starts) then -- as start_job
        add_flight(all, g, id)
        local flights = g.flights
        local f = all.f + flights - g.counted
        all.f, g.counted, g.at, g.has, g.resumes = f > 0 and f or 0, flights, 2, true, false
        if g.idle then g.idle = nil end
      else
        start_job(all, g, member, id, line)
      end
    elseif fits then
      place_now(all, g, line)
    end
    if fits and g and g.where == 't' and may_have_more(all, g.flights, g.weight, left) then file_group(files, g) end
  end
end

-- keep_picks undoes the picks whose jobs are not taken. keeps[id]: it is taken; leaves[id]: it is not, and leaves line too. Returns the members that
-- leave line. line: the key.
local function keep_picks(all, keeps, leaves, line)
  local picks, members, undone = all.picks, {}, false
  for _, id in ipairs(picks) do undone = undone or not keeps[id] end
  if not undone then return all.members or members end
  read_picked(all)
  all.new_from = nil -- the virtual time goes back
  for name, value in pairs(all.before) do all[name] = value end
  for i = #picks, 1, -1 do
    local g, kept, starts = all.picked[i], all.kept[i], all.starts[i]
    g.where, g.flights, g.tag = 't', g.flights - 1, all.tags[i]
    g.counted = g.flights
    if kept then g.blocker, g.resumes = kept.blocker, kept.resumes end
    if starts then g.starts, g.used = starts, all.used[i] end
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
