-- groups: how the groups of a partition stand to each other: which of them may start a job, and their turns.
-- Model: TURN in models/groups.pml.
-- needs: clock starts line

-- Numbers in the keys are decimal. A tag is a text of 38 digits: whole turns (16), millionths of a turn (6), arrival (16, drawn like a place).
--   state, field groups   "<virtual time, the first 22 digits of a tag> <W> <F> <front> <last>": W and F are the sums of the weights and the flights of
--                         the groups in turns; front is the last place that a requeued job got, it only falls; last is the last place drawn. It is there
--                         while places or groups is not empty
--   state, field grules   "<how many fields grules has> <revision>", and while a change of the queue's rule is carried out, a blank and the group that was
--                         tuned last (empty: none). It is there while grules is not empty
--   turns                 "<tag>\t<group>" -> flights / weight, as %.17g: the groups that have a job in line and may start one
--   opens                 "<group>" -> Unix ms, rounded up: the groups that have a job in line, and nothing but their starts keeps them out of turns
--   groups                group -> "<where><flights> <weight> <tag><starts>"; then, if the group has a blocker, a tab and the ID of the job.
--                         where: t in turns, o in opens, - in neither. weight: as W has it, if where is t. tag: - if there is none. starts: see lib/starts.lua.
--                         A group is not there if it would have nothing but "-0 1 -" there
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
--   - the blocker of a group whose jobs run in order is the job that was taken last and has not ended, also if it was given back. It may start again only from line;
--   - a group in neither place and without flights has no tag.
-- Each script that changes a flight, a job in line or a rule reads its groups with read_groups, changes the tables, and ends with tune_groups. Nothing else
-- writes turns and opens.
local QUEUE_RULE = '\1*' -- the field of grules
local FIRST_FRONT = 1000000000000000 -- a place in front is lower by 100,000 a second since 1970: lower than any drawn since 1998, which are Unix us
local UNIT = 1000000 -- of a turn
local STEPPED_US = 1000000 -- if the last place drawn is later than this after TIME, the clock has stepped back

-- The costs, of which the code below thinks where a call has a hundred groups: a field of a table 110 processor instructions, a call of a function 260 to 360,
-- one of Lua's library 500 and more, a new string of 40 bytes 800, a table of 16 fields 5,500, a number from a text 1,700, and a step of ipairs as a call.

-- open_groups returns the table of a script's groups. flag, rules: the fields groups and grules of state; nil or false: absent. purge: the field purge;
-- true: not read.
local function open_groups(flag, rules, purge)
  local all = { of = {}, list = {}, rules = rules, turns = 0, micros = 0, w = 0, f = 0, front = FIRST_FRONT, last = 0, flag = flag,
    purge = purge == nil or purge, blocked = false, weighted = false, joined = false, opened = false, alarmed = false, queue = nil }
  local turns, micros, w, f, front, last = string.match(flag or '', '^(%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d)(%d%d%d%d%d%d) (%d+) (%d+) (%d+) (%d+)$')
  if turns then
    all.turns, all.micros, all.w, all.f = tonumber(turns), tonumber(micros), tonumber(w), tonumber(f)
    all.front, all.last = tonumber(front), tonumber(last)
  end
  return all
end

-- draw_place draws the next place or arrival, later than each one before, whatever the clock says. Returns its text of 16 digits in two parts: of the
-- places of a call, nine out of ten differ from the one before in the last digit only.
local function draw_place(all)
  local last = all.last + 1
  if last < now_us then last = now_us end
  all.last = last
  local digit = last % 10
  if last - digit ~= all.tens then all.tens, all.stem = last - digit, string.sub(string.format('%016d', last), 1, -2) end
  return all.stem, TEXTS[digit] or text_of(digit)
end

-- place_in_front returns a place before all others: front only falls, also if its stored value was lost.
local function place_in_front(all)
  all.front = math.min(all.front - 1, FIRST_FRONT - now_s * 100000)
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
  local all_of = { numbers = rule, weight = math.max(rule[1], 1), running = math.max(rule[2], 0), starts = rule[4] > 0 and math.max(rule[3], 0) or 0, per = rule[4],
    ordered = rule[5] == 1, waiting = math.max(rule[6], 0), paused = own[7] > 0 or queue[7] > 0 }
  -- simple: with fewer flights than this a group in turns remains there, if it has a job in line and a free start
  all_of.usual = all_of.starts == 0 and not all_of.ordered
  all_of.simple = (all_of.ordered or all_of.paused) and 0 or all_of.running > 0 and all_of.running or math.huge
  return all_of
end

-- usual_flights returns the flights of a group from its text, if it is in turns with fewer than ten flights and the weight 1, as most are; else nil.
local function usual_flights(text)
  local where, flights, blank, weight = string.byte(text, 1, 4)
  if weight == 49 and where == 116 and blank == 32 and flights >= 48 and flights <= 57 then return flights - 48 end -- "t<digit> 1 "
end

-- read_default reads the queue's rule. all.alike: no group has a rule of its own, or a pause. grules: the key.
local function read_default(all, grules)
  local text = all.rules and redis.call('HGET', grules, QUEUE_RULE)
  if text then all.queue, all.alike = group_rule(all, text).numbers, redis.call('HLEN', grules) == 1 end
  all.default = group_rule(all, false)
end

-- read_groups reads groups that are not in the table yet. turns, groups, grules: the keys. joined: jobs join the ends of their lines, and nothing else
-- happens: then it leaves out those that remain in turns and have no rule that refuses jobs. all.joined: there are such groups.
local function read_groups(all, names, turns, groups, grules, joined)
  if not names[1] then return end
  local of, list, new, n_new, light, idle = all.of, all.list, {}, 0, all.light, all.idle
  for i = 1, #names do
    local name = names[i]
    if not of[name] then
      local at = light and light.at[name]
      local among = idle and idle.at[name]
      if at then
        light.read(all, at)
      elseif among then
        idle.read(all, among)
      else
        n_new = n_new + 1
        of[name], new[n_new] = true, name
      end
    end
  end
  if n_new == 0 then return end
  local match, rules = string.match, all.rules
  if not all.default then read_default(all, grules) end
  local own, entries = rules and not all.alike and redis.call('HMGET', grules, unpack(new)), redis.call('HMGET', groups, unpack(new))
  local default, purge, members, placed, n = all.default, all.purge, {}, {}, #list
  joined = joined and not purge and default.waiting == 0
  for i = 1, n_new do
    local name, text = new[i], entries[i]
    if joined and text and string.byte(text) == 116 and not (own and own[i]) then -- t
      of[name], all.joined = false, true
    else
      local rule = own and own[i] and group_rule(all, own[i]) or default
      -- a script that takes a hundred jobs reads two hundred groups, so a field more than 16 would cost it a rehash of each
      -- counted: as F has it; stored: its tag in turns; usual: it has neither starts, nor a blocker, nor ever will
      local g, flights, limited = nil, text and usual_flights(text), rule.starts > 0
      local starts = flights and limited and not rule.ordered and starts_of.text(text)
      if starts then
        local tag = string_sub(text, 6, 43)
        g = { name = name, text = text, where = 't', flights = flights, counted = flights, weight = 1, rule = rule, tag = tag, stored = tag, starts = starts }
      elseif flights and #text == 43 and not limited then
        local tag = string_sub(text, 6)
        g = { name = name, text = text, where = 't', flights = flights, counted = flights, weight = 1, rule = rule, tag = tag, stored = tag, usual = rule.usual }
      else
        g = { name = name, text = text, where = '-', flights = 0, counted = 0, weight = 1, rule = rule }
        local where, flights, weight, tag = match(text or '', '^([to%-])(%d+) (%d+) (%S+)')
        if where then
          flights = tonumber(flights)
          g.flights, g.counted, g.weight = flights, flights, tonumber(weight)
          if g.weight ~= 1 then all.weighted = true end
          if #tag == 38 then g.tag = tag end
          if where == 'o' then
            g.where, g.was = where, where
          elseif where == 't' and g.tag then
            g.where, g.stored = where, tag
          end
          if rules and string.find(text, '\t', 1, true) then g.blocker, all.blocked = match(text, '\t(.*)$'), true end
        end
      end
      if purge and g.stored then members[#members + 1], placed[#placed + 1] = g.stored .. '\t' .. name, g end
      if limited and not starts then g.starts = text and match(text, '^%S+ %d+ %S+([^\t]*)') or '' end
      n = n + 1
      of[name], list[n] = g, g
    end
  end
  for i, score in ipairs(#members > 0 and redis.call('ZMSCORE', turns, unpack(members)) or {}) do
    local g = placed[i]
    if not score then
      -- a purge has emptied turns, and not come to this group yet
      g.where, g.stored = '-', nil
      if g.flights == 0 then g.tag = nil end
    end
  end
end

-- turn_of returns the turns and the millionths of a tag.
local function turn_of(all, tag)
  local text = string_sub(tag, 1, 22)
  if all.turn ~= text then all.turn, all.turn_turns, all.turn_micros = text, tonumber(string.sub(text, 1, 16)), tonumber(string.sub(text, 17)) end
  return all.turn_turns, all.turn_micros
end

-- new_tag draws a tag; turns, micros: of its turn.
local function new_tag(all, turns, micros)
  if all.new_turns ~= turns or all.new_micros ~= micros then
    all.new_turns, all.new_micros, all.new_turn, all.new_from = turns, micros, string.format('%016d%06d', turns, micros), nil
  end
  local stem, digit = draw_place(all)
  return all.new_turn .. stem .. digit
end

-- entry_tag draws the tag of a group that enters turns. tag: the one that it has; nil: none. It has no credit from before: it enters at the virtual time,
-- behind those that have entered since it moved.
local function entry_tag(all, tag)
  local turns, micros = all.turns, all.micros
  if tag then
    local own_turns, own_micros = turn_of(all, tag)
    if own_turns > turns or own_turns == turns and own_micros > micros then turns, micros = own_turns, own_micros end
  end
  return new_tag(all, turns, micros)
end

-- place_group decides where a group belongs, and counts it in W and F. has: it has a job in line; resumes: its blocker is there.
local function place_group(all, g, has, resumes)
  local rule, before = g.rule, g.where
  if has and before == 't' and g.flights < rule.simple and g.weight == rule.weight and not g.blocker and (rule.starts == 0 or starts_of.count(g) < rule.starts) then
    local f = all.f + g.flights - g.counted
    all.f, g.counted = f > 0 and f or 0, g.flights
    return
  end
  if before == 't' then
    local w, f = all.w - g.weight, all.f - g.counted
    all.w, all.f = w > 0 and w or 0, f > 0 and f or 0
  end
  g.where = '-'
  if not rule.ordered then g.blocker = nil end
  if has and not rule.paused and (rule.running == 0 or g.flights < rule.running) and not (rule.ordered and (g.flights > 0 or g.blocker and not resumes)) then
    g.where = rule.starts > 0 and starts_of.count(g) >= rule.starts and 'o' or 't'
  end
  if g.where == 'o' and before ~= 'o' then all.alarmed = true end
  if g.where == 't' then
    if before ~= 't' then
      all.opened, g.tag = true, entry_tag(all, g.tag)
    end
    g.weight, g.counted = rule.weight, g.flights
    all.w, all.f = all.w + g.weight, all.f + g.flights
  elseif g.flights == 0 then
    g.tag = nil
  end
end

-- take_turn moves the virtual time to a tag, whose group of this weight starts a job: its turn costs it 1 / weight. all.new_turn becomes the turn of its new tag.
local function take_turn(all, tag, weight)
  local turn = string_sub(tag, 1, 22)
  if weight == 1 and turn == all.new_from then return end -- as for the job before
  local turns, micros = all.turn_turns, all.turn_micros
  if turn ~= all.turn then turns, micros = turn_of(all, tag) end
  local ahead = (turns - all.turns) * UNIT + micros - all.micros -- of the virtual time
  if ahead > 0 then all.turns, all.micros, ahead = turns, micros, 0 end
  local cost = weight == 1 and UNIT or math.floor(UNIT / weight + 0.5)
  if ahead < -2 * cost then
    -- a group that could not compete for long has no credit without bound: at most twice its share, or two turns
    local credit = 2 * math.max(math.ceil((all.f + 1) / math.max(all.w, 1) * UNIT), cost)
    local least, part = all.turns - math.floor(credit / UNIT), all.micros - credit % UNIT
    if part < 0 then least, part = least - 1, part + UNIT end
    if least < 0 then least, part = 0, 0 end
    if least > turns or least == turns and part > micros then turns, micros = least, part end
    turn = nil -- the next one may cost another group less
  end
  micros = micros + cost
  if micros >= UNIT then turns, micros = turns + 1, micros - UNIT end
  if all.new_turns ~= turns or all.new_micros ~= micros then
    all.new_turns, all.new_micros, all.new_turn = turns, micros, string.format('%016d%06d', turns, micros)
  end
  all.new_from = weight == 1 and turn or nil
end

-- add_flight counts a flight of the group that starts.
local function add_flight(all, g, id)
  take_turn(all, g.tag, g.weight)
  local stem, digit = draw_place(all)
  g.tag, g.flights = all.new_turn .. stem .. digit, g.flights + 1
  if g.usual then return end
  if g.starts then starts_of.add(g) end
  if g.rule.ordered then g.blocker = id end
end

-- end_flights counts n flights of the group that have ended.
local function end_flights(g, n)
  g.flights = math.max(g.flights - n, 0)
end

-- return_turn gives the turn of a job back that was taken and has not begun.
local function return_turn(all, g)
  if not g.tag then return end
  local turns, micros = turn_of(all, g.tag)
  micros = micros - math.floor(UNIT / g.rule.weight + 0.5)
  turns, micros = turns + math.floor(micros / UNIT), micros % UNIT
  if turns < 0 then turns, micros = 0, 0 end
  g.tag = string.format('%016d%06d', turns, micros) .. string.sub(g.tag, 23)
end

-- tune_group adds to the lists what is to be written for a group.
local function tune_group(g, out, into, closed, until_ms, gone, set)
  local name, where, text = g.name, g.where, nil
  if where == 't' then
    local weight, tag, stored, share = g.weight, g.tag, g.stored, TEXTS[g.flights] or text_of(g.flights)
    text = 't' .. share .. (weight == 1 and ' 1 ' or ' ' .. text_of(weight) .. ' ') .. tag
    if stored ~= tag or text ~= g.text then
      if stored and stored ~= tag then out[#out + 1] = stored .. '\t' .. name end
      local n = #into
      into[n + 1], into[n + 2] = weight == 1 and share or string.format('%.17g', g.flights / weight), tag .. '\t' .. name
    end
  else
    text = where .. text_of(g.flights) .. ' 1 ' .. (g.tag or '-')
    if g.stored then out[#out + 1] = g.stored .. '\t' .. name end
  end
  if where == 'o' then
    until_ms[#until_ms + 1], until_ms[#until_ms + 2] = whole(starts_of.opens_at(g)), name
  elseif g.was then
    closed[#closed + 1] = name
  end
  if g.starts then
    if where ~= 't' then starts_of.count(g) end -- of a group at rest nothing else removes them
    text = text .. g.starts
  end
  if g.blocker then text = text .. '\t' .. g.blocker end
  if text == '-0 1 -' then
    if g.text then gone[#gone + 1] = name end
  elseif text ~= g.text then
    local n = #set
    set[n + 1], set[n + 2] = name, text
  end
end

-- tune_groups ends a script's changes: it decides where each of the groups belongs, and writes what has changed. If g.has is not nil, it is known whether
-- the group has a job in line, and then g.resumes, whether its blocker is there. state, line, places, turns, groups, opens: the keys.
local function tune_groups(all, state, line, places, turns, groups, opens)
  local HEADS = {} -- number of flights -> how the text of a usual group begins
  local out, into, closed, until_ms, gone, set, list, light = {}, {}, {}, {}, {}, {}, all.list, all.light
  local n_out, n_into = 0, 0 -- of the usual groups: of into and set; the others come after them
  local others = {}
  for i = 1, #list do
    local g = list[i]
    if not g.idle then
      local has, resumes = g.has, g.resumes
      if has == nil or resumes == nil then -- else place_now has done the same
        if has == nil then
          -- read after write: the script has changed the line
          has = redis.call('ZRANGEBYLEX', line, '[' .. g.name .. '\t', '(' .. g.name .. '\n', 'LIMIT', '0', '1')[1]
        end
        if has and g.blocker then
          -- read after write: as above
          local entry = redis.call('HGET', places, g.blocker)
          -- read after write: as above
          resumes = entry and redis.call('ZSCORE', line, line_member(g.blocker, entry) or '') and true
        end
        place_group(all, g, has, resumes)
      end
      local starts = g.starts
      if (g.usual or starts and not g.blocker and not g.was) and g.where == 't' and g.weight == 1 then -- the usual case of tune_group
        local tag, stored, flights = g.tag, g.stored, g.flights
        local head = HEADS[flights]
        if not head then
          head = 't' .. text_of(flights) .. ' 1 '
          HEADS[flights] = head
        end
        local text = starts and head .. tag .. starts or head .. tag
        if text ~= g.text then
          local name, n = g.name, n_into
          if stored and stored ~= tag then
            n_out = n_out + 1
            out[n_out] = stored .. '\t' .. name
          end
          n_into = n + 2
          into[n + 1], into[n_into], set[n + 1], set[n_into] = TEXTS[flights], tag .. '\t' .. name, name, text
        end
      else
        others[#others + 1] = g
      end
    end
  end
  local left, starts, reads, resting = light and light.flights, light and light.starts, light and light.reads, {} -- resting: names and texts of those not in turns
  for i = 1, left and #left or 0 do
    local flights = left[i]
    if flights and reads[i] and not reads[i][1] then
      if flights == 0 then
        gone[#gone + 1] = light.names[i]
      else
        resting[#resting + 1], resting[#resting + 2] = light.names[i], '-' .. text_of(flights) .. ' 1 ' .. light.tags[i]
      end
    elseif flights then
      local name, tag, n = light.names[i], light.tags[i], n_into
      local head = HEADS[flights]
      if not head then
        head = 't' .. text_of(flights) .. ' 1 '
        HEADS[flights] = head
      end
      n_into = n + 2
      into[n + 1], into[n_into], set[n + 1], set[n_into] = TEXTS[flights], tag .. '\t' .. name, name, starts and head .. tag .. starts[i] or head .. tag
    end
  end
  local idle = all.idle
  local picked, now = idle and idle.picked, idle and idle.starts
  for k = 1, picked and #picked or 0 do
    local i = picked[k]
    local tag = i and idle.tags[i]
    if tag then
      local name, flights, n = idle.names[i], idle.counts[i], n_into
      n_out = n_out + 1
      out[n_out] = idle.members[i]
      if idle.stays[i] then
        local head = HEADS[flights]
        if not head then
          head = 't' .. text_of(flights) .. ' 1 '
          HEADS[flights] = head
        end
        n_into = n + 2
        into[n + 1], into[n_into], set[n + 1], set[n_into] = TEXTS[flights], tag .. '\t' .. name, name, now and head .. tag .. now[i] or head .. tag
      else
        local n, rest = #resting, '-' .. text_of(flights) .. ' 1 ' .. tag
        resting[n + 1], resting[n + 2] = name, now and rest .. now[i] or rest
      end
    end
  end
  for i = 1, #resting do set[n_into + i] = resting[i] end
  for _, g in ipairs(others) do tune_group(g, out, into, closed, until_ms, gone, set) end
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
  local stem, digit = draw_place(all)
  return stem .. digit .. ' ' .. group, group .. '\t' .. stem .. digit .. '\t' .. id
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
