-- light: groups that a busy call changes without a table for each: a table costs as much as ten fields, and most groups of such a call start or end one job.
-- needs: clock queuelimit starts line groups

-- A light group is one without a rule of its own of which flights have ended, and nothing else has happened. If jobs of it wait, it is in turns now: it remains
-- there with its tag and its starts, or enters. It has no table until something else happens to it, as most of those of a busy call. all.light: at: name -> index;
-- lists of names, texts, tags, starts (nil: they are not limited) and flights (false: it is not light, or not any more); by index, reads: the first jobs of the
-- line of a group that was not in turns before (none: it is not there now either).

-- read_light creates the table of a light group; i: its index.
local function read_light(all, i)
  local light, n = all.light, #all.list + 1
  local name, tag, flights, read = light.names[i], light.tags[i], light.flights[i], light.reads[i]
  local g
  if light.starts then
    g = { name = name, text = light.texts[i], where = 't', flights = flights, counted = flights, weight = 1, rule = all.default, tag = tag, stored = tag,
      starts = light.starts[i], has = true, resumes = false }
  elseif read then
    g = { name = name, text = light.texts[i], where = read[1] and 't' or '-', flights = flights, counted = flights, weight = 1, rule = all.default,
      tag = (read[1] or flights > 0) and tag or nil, usual = read[1] and true, read = read, at = 1, complete = not read[2], has = read[1] ~= nil, resumes = false }
  else
    g = { name = name, text = light.texts[i], where = 't', flights = flights, counted = flights, weight = 1, rule = all.default, tag = tag, stored = tag,
      usual = true, has = true, resumes = false }
  end
  light.flights[i] = false
  all.of[name], all.list[n] = g, g
  return g
end

-- end_light notes the ends of flights of groups in all.light. names: the groups, each once, of which the table has none; ended: how many flights of
-- each have ended; groups, grules, line: the keys. Returns the names of the other groups. Only for partitions without a purge.
local function end_light(all, names, ended, groups, grules, line)
  read_default(all, grules)
  local rule = all.default
  if rule.simple == 0 or rule.weight ~= 1 then return names end
  local own, starts, byte = all.rules and not all.alike and redis.call('HMGET', grules, unpack(names)), rule.starts > 0 and {} or nil, string.byte
  local texts, tags, left, others, reads, f = redis.call('HMGET', groups, unpack(names)), {}, {}, {}, {}, all.f
  for i = 1, #names do
    local name, text, where, flights, blank, weight = names[i], texts[i], nil, nil, nil, nil
    local less = ended[name]
    if text and (starts or #text == 43) then where, flights, blank, weight = byte(text, 1, 4) end
    flights = weight == 49 and blank == 32 and flights >= 48 + less and flights <= 57 and flights - 48 - less or rule.simple -- as usual_flights
    local those = starts and where == 116 and starts_of.text(text)
    if flights >= rule.simple or own and own[i] then
      where = nil
    elseif where == 116 and (those or not starts) then -- t: it remains in turns
      tags[i], f = string_sub(text, 6, 43), f - less
      if starts then starts[i] = those end
    elseif where == 45 and not starts then -- "-": it enters, if jobs wait
      local read = redis.call('ZRANGEBYLEX', line, '[' .. name .. '\t', '(' .. name .. '\n', 'LIMIT', '0', '2')
      tags[i], reads[i] = string_sub(text, 6), read
      if read[1] then tags[i], f, all.w, all.opened = entry_tag(all, tags[i]), f + flights, all.w + 1, true end
    else
      where = nil
    end
    if where then
      left[i], ended[name] = flights, i
    else
      left[i], ended[name], others[#others + 1] = false, nil, name
    end
  end
  all.light = { read = read_light, at = ended, names = names, texts = texts, tags = tags, starts = starts, flights = left, reads = reads }
  all.f = f > 0 and f or 0
  return others
end

-- An idle group is one of turns without a rule of its own, with the weight 1, to which the call does nothing but start one job. It has no table until something
-- else happens to it, as most of those of a busy call. all.idle: at: name -> index; lists of names, members (of turns), flights (false: it has got a slot, or
-- is not idle any more) and, if they are limited, texts, starts and used, as the tables of groups have them; of those that have got a slot, picked, for each pick
-- the index (false: another group has got it), and by index tags, the new ones (nil: it is not idle any more), counts, their flights, stays, whether they
-- remain in turns, reads, the first jobs of their lines, old_starts and old_used; gaps: how many are not idle any more; scratch: a table for the piece starts.

-- read_idle creates the table of an idle group; i: its index.
local function read_idle(all, i)
  local idle, n = all.idle, #all.list + 1
  local name, flights, stored, tag = idle.names[i], idle.flights[i], string_sub(idle.members[i], 1, 38), idle.tags[i]
  local before, starts = flights or idle.counts[i] - 1, idle.starts and idle.starts[i]
  local g
  if starts then
    g = { name = name, text = idle.texts[i], where = 't', flights = before, counted = before, weight = 1, rule = all.default, tag = stored, stored = stored,
      starts = starts, used = idle.used[i], idle = flights and true }
  else
    g = { name = name, text = 't' .. text_of(before) .. ' 1 ' .. stored, where = 't', flights = before, counted = before, weight = 1, rule = all.default,
      tag = stored, stored = stored, usual = true, idle = flights and true }
  end
  if tag then
    local read = idle.reads[i]
    g.flights, g.counted, g.tag, g.where = before + 1, before + 1, tag, idle.stays[i] and 't' or '-'
    g.read, g.at, g.complete, g.has, g.resumes = read, 2, not read[2], read[2] ~= nil, false
  end
  idle.flights[i], idle.tags[i], idle.at[name], idle.gaps = false, nil, nil, idle.gaps + 1
  all.of[name], all.list[n] = g, g
  return g
end

-- read_picked creates the tables of all picked groups.
local function read_picked(all)
  local picked, idle = all.picked, all.idle
  for k = 1, idle and #picked or 0 do
    local i = idle.picked[k]
    if i and not picked[k] then
      local g = idle.tags[i] and read_idle(all, i) or all.of[idle.names[i]]
      picked[k], all.tags[k] = g, g.stored
      if idle.starts then all.starts[k], all.used[k] = idle.old_starts[i], idle.old_used[i] end
    end
  end
end

-- list_idle adds groups of turns to all.idle; members: of turns, with their names in names behind from. groups, grules: the keys. Returns the names of the others.
local function list_idle(all, members, names, from, groups, grules)
  local of, idle, at, others, new, new_members, n_new = all.of, all.idle, all.light and all.light.at, {}, {}, {}, 0
  for i = 1, #members do
    local name = names[from + i]
    if of[name] or at and at[name] then
      others[#others + 1] = name
    elseif not idle.at[name] then
      n_new = n_new + 1
      new[n_new], new_members[n_new] = name, members[i]
    end
  end
  if n_new == 0 then return others end
  local own, texts = all.rules and not all.alike and redis.call('HMGET', grules, unpack(new)), redis.call('HMGET', groups, unpack(new))
  local rule, n, index, listed, flying, known, starts, scratch = all.default, #idle.names, idle.at, idle.members, idle.flights, idle.names, idle.starts, idle.scratch
  for i = 1, n_new do
    local name, text = new[i], texts[i]
    local flights = text and (starts or #text == 43) and usual_flights(text)
    local free = not starts
    if flights and starts then
      scratch.starts, scratch.used = starts_of.text(text), nil
      free = scratch.starts and starts_of.count(scratch) < rule.starts
    end
    if flights and flights < rule.simple and free and not (own and own[i]) then
      n = n + 1
      known[n], listed[n], flying[n], index[name] = name, new_members[i], flights, n
      if starts then idle.texts[n], starts[n], idle.used[n] = text, scratch.starts, scratch.used end
    else
      others[#others + 1] = name
    end
  end
  return others
end

-- may_have_more reports whether a group may get another slot, as far as its flights and its weight decide it. left: how many slots are left with the one that
-- it has got. With each of them F grows by one at most, and W falls by the weight of one group at most.
local function may_have_more(all, flights, weight, left)
  return flights * (all.w - left - all.heavy) < (all.f + left) * weight
end

-- pick_idle starts the first job of an idle group; i: its index, count: the number of the pick, left: how many slots are left with this one, line: the key.
-- Returns the job's member of line, and its table if it has one now: then the job has not started. nil: no job waits.
local function pick_idle(all, i, count, left, line)
  local idle, rule = all.idle, all.default
  local name, flights, starts = idle.names[i], idle.flights[i], idle.starts
  local fresh = redis.call('ZRANGEBYLEX', line, '[' .. name .. '\t', '(' .. name .. '\n', 'LIMIT', '0', '2')
  local member, stays = fresh[1], fresh[2] and flights + 1 < rule.simple or false
  if not member or stays and may_have_more(all, flights + 1, 1, left) or starts and idle.used[i] + 1 >= rule.starts then
    local g = read_idle(all, i)
    g.read, g.at, g.complete = fresh, 1, not fresh[2]
    return member, g
  end
  take_turn(all, idle.members[i], 1)
  local stem, digit = draw_place(all)
  idle.picked[count], idle.tags[i], idle.counts[i], idle.stays[i], idle.reads[i], idle.flights[i] = i, all.new_turn .. stem .. digit, flights + 1, stays, fresh, false
  if starts then
    local scratch = idle.scratch
    scratch.starts, scratch.used, idle.old_starts[i], idle.old_used[i] = starts[i], idle.used[i], starts[i], idle.used[i]
    starts_of.add(scratch)
    starts[i], idle.used[i] = scratch.starts, scratch.used
  end
  if stays then
    all.f = all.f + 1
  else
    local w, f = all.w - 1, all.f - flights
    all.w, all.f = w > 0 and w or 0, f > 0 and f or 0
  end
  return member
end
