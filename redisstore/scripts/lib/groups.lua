-- groups: how the groups of a partition stand to each other: which of them may start a job, and their turns.
-- needs: clock queuelimit line

-- Numbers in the keys are decimal. A tag is a text of 38 digits: whole turns (16), millionths of a turn (6), arrival (16, drawn like a place).
--   state, field groups   "<virtual time, the first 22 digits of a tag> <W> <F> <front> <last>": W and F are the sums of the weights and the flights of
--                         the groups in turns; front is the last place that a requeued job got, it only falls; last is the last place drawn. It is there
--                         while places or groups is not empty
--   state, field grules   "<how many fields grules has> <revision>", and while a change of the queue's rule is carried out, a blank and the group that was
--                         tuned last (empty: none). It is there while grules is not empty
--   turns                 "<tag>\t<group>" -> flights / weight, as %.17g: the groups that have a job in line and may start one
--   opens                 "<group>" -> Unix ms, rounded up: the groups that have a job in line, and nothing but their starts keeps them out of turns
--   groups                group -> "<where><flights> <weight> <tag>", then for each pair of starts, the oldest first, as in the limit of a queue,
--                         " <instant of its last start, Unix us>:<time from its first to its last start, us>:<how many>"; then, if the group has a
--                         blocker, a tab and the ID of the job. where: t in turns, o in opens, - in neither. weight: as W has it, if where is t.
--                         tag: - if there is none. A group is not there if it would have nothing but "-0 1 -" there
--   grules                group, or \1* for the queue's rule -> "<weight> <running> <starts> <per, ms> <ordered> <waiting> <paused>", and if it is paused
--                         with a note, a tab and the JSON of the note. 0: not set; -1: no limit (running, starts, waiting); ordered: 0 not set, 1 on,
--                         2 off; paused: Unix ms since when, 0 it is not (the queue's rule: always 0). A group whose seven numbers are 0 is not there
--
--              a job joins line, a flight ends, a start is free, resumed, its blocker ends
--   neither ─────────────────────────────────────────────────────────────────────────► turns: it may start a job
--      ▲  ◄──────────────────────────────────────────────────────────────────────────┘  │ ▲
--      │       its line is empty, as many flights as it may have, paused, blocked       ▼ │ a start ends
--      └──────────────────────────────────────────────────────────────────────────── opens: its starts are used
--
-- After every script:
--   - flights is the number of jobs of the group in the hashes of the sessions in …:sessions;
--   - where says in which of turns and opens the group is: see above. W and F are the sums over turns;
--   - the blocker of a group whose jobs run in order is a job that was taken and has not ended. It may start again only from line;
--   - a group in neither place and without flights has no tag.
-- Each script that changes a flight, a job in line or a rule reads its groups with read_groups, changes the tables, and ends with tune_groups. Nothing else
-- writes turns and opens.
local QUEUE_RULE = '\1*' -- the field of grules
local FIRST_FRONT = 1000000000000000 -- a place in front is lower by FRONT_STEP a second since 1970: lower than any drawn since 1998, which are Unix us
local FRONT_STEP = 100000 -- by how much front falls in a second, at least
local UNIT = 1000000 -- of a turn
local STEPPED_US = 1000000 -- if the last place drawn is later than this after TIME, the clock has stepped back

-- open_groups returns the table of a script's groups. flag, rules: the fields groups and grules of state; nil or false: absent.
local function open_groups(flag, rules)
  local all = { of = {}, list = {}, rules = rules, turns = 0, micros = 0, w = 0, f = 0, front = FIRST_FRONT, last = 0, flag = flag,
    opened = false, alarmed = false, queue = nil }
  local turns, micros, w, f, front, last = string.match(flag or '', '^(%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d)(%d%d%d%d%d%d) (%d+) (%d+) (%d+) (%d+)$')
  if turns then
    all.turns, all.micros, all.w, all.f = tonumber(turns), tonumber(micros), tonumber(w), tonumber(f)
    all.front, all.last = tonumber(front), tonumber(last)
  end
  return all
end

-- draw_place returns the next place or arrival, as a number of 16 digits: later than each one before, whatever the clock says.
local function draw_place(all)
  all.last = math.max(all.last + 1, now_us)
  return all.last
end

-- place_in_front returns a place before all others: front only falls, also if its stored value was lost.
local function place_in_front(all)
  all.front = math.min(all.front - 1, FIRST_FRONT - now_s * FRONT_STEP)
  return all.front
end

-- group_rule returns the rule that is in effect for a group with this entry in grules (false: it has none). A field of its own comes before the
-- queue's. A text that cannot be read stops the group: its limits may be the only protection of a third party.
local function group_rule(all, text)
  local own = { 0, 0, 0, 0, 0, 0, 0 }
  if text then
    own = { string.match(text, '^(%d+) (%-?%d+) (%-?%d+) (%d+) (%d) (%-?%d+) (%d+)') }
    for i = 1, 7 do own[i] = tonumber(own[i] or 'x') end
    if not own[7] then own = { 0, 0, 0, 0, 0, 0, 1 } end
  end
  local queue, rule = all.queue or own, {}
  for i = 1, 7 do rule[i] = own[i] ~= 0 and own[i] or queue[i] end
  if own[3] ~= 0 then rule[4] = own[4] end
  return { numbers = rule, weight = math.max(rule[1], 1), running = math.max(rule[2], 0), starts = rule[4] > 0 and math.max(rule[3], 0) or 0, per = rule[4],
    ordered = rule[5] == 1, waiting = math.max(rule[6], 0), paused = own[7] > 0 or queue[7] > 0 }
end

-- read_groups reads groups that are not in the table yet. turns, groups, grules: the keys.
local function read_groups(all, names, turns, groups, grules)
  local new, members, placed = {}, {}, {}
  for _, name in ipairs(names) do
    if not all.of[name] then
      all.of[name], new[#new + 1] = true, name
    end
  end
  if #new == 0 then return end
  local own, entries = {}, redis.call('HMGET', groups, unpack(new))
  if not all.default then
    local text = all.rules and redis.call('HGET', grules, QUEUE_RULE)
    if text then all.queue = group_rule(all, text).numbers end
    all.default = group_rule(all, false)
  end
  if all.rules then own = redis.call('HMGET', grules, unpack(new)) end
  for i, name in ipairs(new) do
    local where, flights, weight, tag, pairs_text = string.match(entries[i] or '', '^([to%-])(%d+) (%d+) (%S+)([^\t]*)')
    local has_tag = tag and #tag == 38
    flights = tonumber(flights or 0)
    local g = { -- all at once: a table that grows is expensive
      name = name, text = entries[i], where = where or '-', was = where or '-', flights = flights, weight = tonumber(weight or 1), counted = flights, -- as F has it
      rule = own[i] and group_rule(all, own[i]) or all.default, tag = has_tag and tag, turns = has_tag and tonumber(string.sub(tag, 1, 16)),
      micros = has_tag and tonumber(string.sub(tag, 17, 22)), arrival = has_tag and tonumber(string.sub(tag, 23)), member = false, read = false, at = 1,
      kept = false, resumes = nil, has = nil, idle = nil,
    }
    if where and string.find(entries[i], '\t', 1, true) then g.blocker = string.match(entries[i], '\t(.*)$') end
    if where == 't' then members[#members + 1], placed[#placed + 1] = tag .. '\t' .. name, g end
    if g.rule.starts > 0 then
      g.limit = read_limit('0 ' .. whole(g.rule.starts) .. ' ' .. whole(g.rule.per) .. ' 0' .. (pairs_text or ''))
      if g.limit.unreadable then g.limit = new_limit(0, g.rule.starts, g.rule.per) end
    end
    all.of[name], all.list[#all.list + 1] = g, g
  end
  for i, score in ipairs(#members > 0 and redis.call('ZMSCORE', turns, unpack(members)) or {}) do
    local g = placed[i]
    if score then
      g.member = members[i]
    else -- a purge has emptied turns, and not come to this group yet
      g.where = '-'
      if g.flights == 0 then g.tag = nil end
    end
  end
end

-- new_tag gives the group a tag; turns, micros: what it is.
local function new_tag(all, g, turns, micros)
  g.turns, g.micros, g.arrival = turns, micros, draw_place(all)
  g.tag = string.format('%016d%06d%016d', turns, micros, g.arrival)
end

-- place_group decides where a group belongs, and counts it in W and F. has: it has a job in line; resumes: its blocker is there.
local function place_group(all, g, has, resumes)
  local rule, before = g.rule, g.where
  if before == 't' then all.w, all.f = math.max(all.w - g.weight, 0), math.max(all.f - g.counted, 0) end
  g.where = '-'
  if not rule.ordered then g.blocker = nil end
  if has and not rule.paused and (rule.running == 0 or g.flights < rule.running) and not (rule.ordered and (g.flights > 0 or g.blocker and not resumes)) then
    g.where = g.limit and g.limit.used >= rule.starts and 'o' or 't'
  end
  if g.where == 'o' and before ~= 'o' then all.alarmed = true end
  if g.where == 't' then
    if before ~= 't' then
      all.opened = true
      -- without credit from before: it enters at the virtual time, behind those that have entered since it moved
      local debt = g.tag and (g.turns > all.turns or g.turns == all.turns and g.micros > all.micros)
      new_tag(all, g, debt and g.turns or all.turns, debt and g.micros or all.micros)
    end
    g.weight, g.counted = rule.weight, g.flights
    all.w, all.f = all.w + g.weight, all.f + g.flights
  elseif g.flights == 0 then
    g.tag = nil
  end
end

-- add_flight counts a flight of the group that starts. Its turn costs it 1 / weight.
local function add_flight(all, g, id)
  if g.turns > all.turns or g.turns == all.turns and g.micros > all.micros then all.turns, all.micros = g.turns, g.micros end
  local cost = math.floor(UNIT / g.weight + 0.5)
  -- a group that could not compete for long has no credit without bound: at most twice its share, or two turns
  local credit = 2 * math.max(math.ceil((all.f + 1) / math.max(all.w, 1) * UNIT), cost)
  local turns, micros = all.turns - math.floor(credit / UNIT), all.micros - credit % UNIT
  if micros < 0 then turns, micros = turns - 1, micros + UNIT end
  if turns < 0 then turns, micros = 0, 0 end
  if g.turns > turns or g.turns == turns and g.micros > micros then turns, micros = g.turns, g.micros end
  micros = micros + cost
  if micros >= UNIT then turns, micros = turns + 1, micros - UNIT end
  new_tag(all, g, turns, micros)
  g.flights = g.flights + 1
  if g.limit then count_flights(g.limit, 0, 1, 0) end
  if g.rule.ordered then g.blocker = id end
end

-- end_flights counts n flights of the group that have ended.
local function end_flights(g, n)
  g.flights = math.max(g.flights - n, 0)
end

-- return_turn gives the turn of a job back that was taken and has not begun.
local function return_turn(g)
  if not g.tag then return end
  local micros = g.micros - math.floor(UNIT / g.rule.weight + 0.5)
  g.turns, g.micros = g.turns + math.floor(micros / UNIT), micros % UNIT
  if g.turns < 0 then g.turns, g.micros = 0, 0 end
  g.tag = string.format('%016d%06d%016d', g.turns, g.micros, g.arrival)
end

-- tune_groups ends a script's changes: it decides where each of the groups belongs, and writes what has changed. If g.has is not nil, it is known whether
-- the group has a job in line, and then g.resumes, whether its blocker is there. state, line, places, turns, groups, opens: the keys.
local function tune_groups(all, state, line, places, turns, groups, opens)
  local out, into, closed, until_ms, gone, set = {}, {}, {}, {}, {}, {}
  local changed = {}
  for _, g in ipairs(all.list) do
    if not g.idle then changed[#changed + 1] = g end
  end
  for _, g in ipairs(changed) do
    local name, has, resumes = g.name, g.has, g.resumes
    if has == nil then
      -- read after write: the script has changed the line
      has = redis.call('ZRANGEBYLEX', line, '[' .. name .. '\t', '(' .. name .. '\n', 'LIMIT', '0', '1')[1]
    end
    if has and g.blocker and (g.has == nil or resumes == nil) then
      -- read after write: as above
      local entry = redis.call('HGET', places, g.blocker)
      -- read after write: as above
      resumes = entry and redis.call('ZSCORE', line, line_member(g.blocker, entry) or '') and true
    end
    place_group(all, g, has, resumes)
    local member = g.where == 't' and g.tag .. '\t' .. name
    if g.where == 'o' then
      until_ms[#until_ms + 1], until_ms[#until_ms + 2] = whole(next_start(g.limit, -1, true)), name
    elseif g.was == 'o' then
      closed[#closed + 1] = name
    end
    local text = g.where .. whole(g.flights) .. ' ' .. whole(member and g.weight or 1) .. ' ' .. (g.tag or '-')
    if g.limit and g.limit.pairs[1] then text = text .. string.match(limit_text(g.limit), '^%d+ %d+ %d+ %d+(.*)$') end
    if g.blocker then text = text .. '\t' .. g.blocker end
    if g.member and g.member ~= member then out[#out + 1] = g.member end
    if member and (member ~= g.member or text ~= g.text) then
      into[#into + 1], into[#into + 2] = string.format('%.17g', g.flights / g.weight), member
    end
    if text == '-0 1 -' then
      if g.text then gone[#gone + 1] = name end
    elseif text ~= g.text then
      set[#set + 1], set[#set + 2] = name, text
    end
  end
  if #out > 0 then redis.call('ZREM', turns, unpack(out)) end
  if #into > 0 then redis.call('ZADD', turns, unpack(into)) end
  if #closed > 0 then redis.call('ZREM', opens, unpack(closed)) end
  if #until_ms > 0 then redis.call('ZADD', opens, unpack(until_ms)) end
  if #gone > 0 then redis.call('HDEL', groups, unpack(gone)) end
  if #set > 0 then redis.call('HSET', groups, unpack(set)) end
  -- read after write: only now it is known whether others are left
  if #set == 0 and redis.call('HLEN', places) == 0 and redis.call('HLEN', groups) == 0 then
    redis.call('HDEL', state, 'groups')
    return
  end
  local flag = string.format('%016d%06d %d %d %016d %016d', all.turns, all.micros, all.w, all.f, all.front, all.last)
  if flag ~= all.flag then redis.call('HSET', state, 'groups', flag) end
end

-- enter_line draws the place of a job that joins the end of its group's line. Returns its entry in places, and its member of line.
local function enter_line(all, group, id)
  local place = string.format('%016d', draw_place(all))
  return place .. ' ' .. group, group .. '\t' .. place .. '\t' .. id
end

-- unblock records that this job of the group does not keep the next one from starting.
local function unblock(g, id)
  if g.blocker == id then g.blocker, g.resumes = nil, nil end
end

-- check_groups reads each key that tune_groups writes, so that a key of a wrong type stops the script before its first write.
local function check_groups(line, places, turns, groups, opens)
  redis.call('ZCARD', line)
  redis.call('HLEN', places)
  redis.call('ZCARD', turns)
  redis.call('HLEN', groups)
  redis.call('ZCARD', opens)
end
