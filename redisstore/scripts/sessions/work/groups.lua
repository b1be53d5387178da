-- groups: what the settlements change in the groups of their jobs. A section of work.lua.

-------------------------------------------------------------------------------------------------- read: the groups of the jobs

-- nil: no job of the partition has a group. else the table of the groups (lib/groups.lua), with fn: the functions; joins (lib/joins.lua); and, of the jobs
-- that are settled: ended: IDs that leave places; placed: IDs and new entries there; lined: members that join line; given: ID -> true, given back;
-- back: ID -> its new envelope; changed: there are some; held: ID -> true, of all of them. Of occurrences, the settlement may turn out otherwise (lib/settle.lua): those that are
-- given back go to the front of ready, and the next take moves them to line; what else ends is known at the end of the call.
-- gave, left: see lib/joins.lua. followed: group -> the ended job that remains its blocker during the take, because a job that follows it enters the same
-- group only after the take, and starts before the others of an ordered group.
-- The take counts on the changes of the settlements, which are only carried out after it is decided.
local grouped
local first_ones -- likewise, if no job of the partition has a group yet, and what replaces a flight or follows it may have one
if (state[11] or joins or cancels and cancels.replaced[1]) and not again then
  local fn = group_pieces()
  first_ones = fn.open_groups(state[11], state[12], state[13])
  first_ones.fn, first_ones.joins, first_ones.picks, first_ones.out, first_ones.back, first_ones.given = fn, {}, {}, {}, {}, {}
  first_ones.ended, first_ones.placed, first_ones.lined = {}, {}, {}
  first_ones.held, first_ones.gave, first_ones.left, first_ones.followed = {}, {}, {}, {}
  if state[11] then grouped = first_ones end
  redis.call('ZCARD', LINE)
  redis.call('ZCARD', KEYS[31])
  redis.call('HLEN', KEYS[32])
  redis.call('ZCARD', KEYS[34])
  redis.call('HLEN', PLACES)
  local ids = { unpack(ended, ended_from, grouped and ended_to or 0) }
  local n_finished, kinds, which = #ids, {}, {} -- the finished ones come first; which: of an other settlement, its index
  local function add(id, kind, i)
    local n = #ids + 1
    ids[n], kinds[n], which[n] = id, kind, i
  end
  for _, i in ipairs(grouped and others_held or {}) do add(ARGV[at_id + finished + begun + i], ARGV[at_other + 4 * i - 3], i) end
  for i = 1, grouped and cancels and #cancels or 0, 3 do add(cancels[i], 'c') end
  for i = 1, grouped and cancels and #cancels.replaced or 0, 3 do add(cancels.replaced[i], 'r') end
  local n_ids, n_names, byte, sub = #ids, 0, string.byte, string.sub
  local names, group_of, n_of, entries = {}, {}, {}, n_ids > 0 and redis.call('HMGET', PLACES, unpack(ids)) or {}
  for i = 1, n_ids do
    local entry = entries[i]
    if entry then
      local name = byte(entry, 17) == 32 and sub(entry, 18) or string.match(entry, '^%d+ (.+)$') -- a place has 16 digits
      local before = n_of[name]
      if not before then
        n_names = n_names + 1
        names[n_names] = name
      end
      group_of[i], n_of[name] = name, (before or 0) + 1
    end
  end
  if n_names > 0 and n_ids == n_finished and not state[13] then names = fn.end_light(first_ones, names, n_of, KEYS[32], KEYS[33], LINE) end
  fn.read_groups(first_ones, names, KEYS[31], KEYS[32], KEYS[33])
  if first_ones.blocked then fn.find_blockers(first_ones.list, LINE, PLACES) end
  local enters = {} -- other settlement -> the group that the job that follows enters at once
  for at = at_other + 4 * others + 1, grouped and joins and at_other + 4 * others + 3 * annexes or 0, 3 do
    if ARGV[at + 1] == 'q' then enters[tonumber(ARGV[at])] = nil end -- in another queue; it comes after i
    if ARGV[at + 1] == 'i' then enters[tonumber(ARGV[at])] = string.match(ARGV[at + 2], '^0\t(.*)$') end
  end
  local finished_ones, n_ended, of = first_ones.ended, 0, first_ones.of
  for n = 1, n_finished do
    local name = group_of[n]
    if name then
      local g, id = of[name], ids[n]
      if g then -- else it is light
        local flights = g.flights
        if flights > 0 then g.flights = flights - 1 end
        if not g.usual then fn.unblock(g, id) end
      end
      n_ended = n_ended + 1
      finished_ones[n_ended] = id
    end
  end
  for n = n_finished + 1, n_ids do
    local g = group_of[n] and of[group_of[n]]
    local id, kind, i = ids[n], kinds[n], which[n]
    local occurs = g and fn.is_occurrence(id)
    if g then
      grouped.held[id] = true
      fn.end_flights(g, 1)
      local at = i and finished + begun + i
      local unbegun = i and (held[at + 1] ~= ARGV[at_fence + at] or string.sub(ARGV[at_other + 4 * i - 2], -1) == 'u')
      if unbegun and (kind == 'b' or kind == 'e') and fn.starts_of.started(g, kind, ARGV[at_other + 4 * i - 2], ARGV[at_fence + at]) then fn.starts_of.give_back(g) end
      if occurs and (kind == 'b' or kind == 'm' or kind == 'w') then
        if unbegun and kind == 'b' then fn.return_turn(first_ones, g) end
      elseif kind == 'b' then
        local member = fn.line_member(id, entries[n])
        -- it remains the blocker: it may have begun earlier, and then its place is behind jobs that must not overtake it
        if unbegun then fn.return_turn(first_ones, g) end
        fn.add_waiting(g, member)
        grouped.lined[#grouped.lined + 1], grouped.given[id] = member, true
        if ARGV[at_other + 4 * i - 1] ~= '' then grouped.back[id], grouped.changed = ARGV[at_other + 4 * i - 1], true end
      elseif kind == 'f' or kind == 'l' then
        grouped.placed[#grouped.placed + 1], grouped.placed[#grouped.placed + 2] = id, fn.NO_PLACE .. ' ' .. g.name
      elseif kind ~= 'p' then
        if g.blocker == id and i and enters[i] == g.name then grouped.followed[g] = id else fn.unblock(g, id) end
        if kind ~= 'x' then grouped.ended[#grouped.ended + 1] = id end
      end
    end
  end
  local list, place_now = first_ones.list, fn.place_now
  for i = 1, #list do place_now(first_ones, list[i], LINE) end
end
