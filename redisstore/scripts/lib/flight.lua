-- flight: the data of a call about the schedules whose occurrences it touches, with the changes of their entries in …:open and of the
-- occurrences that wait in …:behind.
-- needs: strings definition open

-- A schedule whose overlap policy is not allow is held by at most one occurrence, the one in …:open. Others that have been taken and
-- may not be dropped wait in …:behind. Whenever the flight of the holding occurrence ends, the oldest of those behind moves
-- to the front of ready, and the schedule is held for it. So every run that has begun ends, and no run waits without end.
--
-- A backfilled occurrence waits there with "~" before its planned instant, so after all other waiting ones; the oldest is first. So a
-- backfill of any length delays the schedule's own next occurrence by one run at most.

-- occurrence splits the ID of an occurrence into schedule and planned instant; for another ID it returns nothing.
local function occurrence(id)
  if byte(id, -1) ~= 90 or byte(id, -21) ~= 64 then return nil end -- Z, @: most other IDs end here
  return match(id, '^(.+)@(%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%dZ)$')
end

-- read_flights reads the schedules names: for each its entry in the hash open and the first ones that wait behind it; if needed[name],
-- also its definition and cursor. open, behind, schedules, cursors: the keys. Returns the table for the other functions:
-- opens[name], definitions[name], cursors[name] are the stored values, false if absent; behind[name] lists planned instants, oldest
-- first; changed[name]: save_flights writes opens[name]; freed[name]: the schedule is not held any more.
local function read_flights(open, behind, schedules, cursors, names, needed)
  local flights = { opens = {}, behind = {}, joined = {}, left = {}, definitions = {}, cursors = {}, changed = {}, freed = {} }
  if #names == 0 then return flights end
  local entries, read = redis.call('HMGET', open, unpack(names)), {}
  local waiting = redis.call('ZCARD', behind) > 0
  for i, name in ipairs(names) do
    flights.opens[name] = entries[i]
    if needed[name] then read[#read + 1] = name end
    if waiting then
      local list = redis.call('ZRANGEBYLEX', behind, '[' .. name .. '\t', '(' .. name .. '\n', 'LIMIT', '0', '4')
      for k = 1, #list do list[k] = sub(list[k], #name + 2) end
      flights.behind[name] = list
    end
  end
  if #read == 0 then return flights end
  local texts = redis.call('HMGET', schedules, unpack(read))
  local stored = redis.call('HMGET', cursors, unpack(read))
  for i, name in ipairs(read) do flights.definitions[name], flights.cursors[name] = texts[i], stored[i] end
  return flights
end

-- read_vanished adds to vanished the occurrences that hold the schedules of candidates although the session that held them is gone. It skips
-- the candidates themselves. ids, schedule: the candidates and their schedules; sessions: the key.
local function read_vanished(vanished, flights, ids, schedule, sessions)
  local names, holders = {}, {}
  for i, name in pairs(schedule) do
    local id, fence, _, session = opened(flights.opens[name])
    if id and id ~= ids[i] and fence ~= '0' and fence ~= '-' then
      names[#names + 1], holders[#holders + 1] = name, session
    end
  end
  if #holders == 0 then return end
  for i, lapse in ipairs(redis.call('ZMSCORE', sessions, unpack(holders))) do
    if not lapse then vanished[names[i]] = opened(flights.opens[names[i]]) end
  end
end

-- set_open changes the entry of a schedule; false removes it.
local function set_open(flights, name, entry)
  flights.opens[name], flights.changed[name] = entry, true
end

-- wait_behind puts the occurrence of this planned instant behind the one that holds the schedule.
local function wait_behind(flights, name, planned)
  local list = flights.behind[name] or {}
  flights.behind[name] = list
  list[#list + 1] = planned
  table.sort(list)
  flights.joined[#flights.joined + 1] = name .. '\t' .. planned
end

-- hold_next holds the schedule for the first occurrence that waits behind, if there is one, and appends it to the list front, the IDs
-- that go to the front of ready. letter, fresh: as in the entry. Returns whether there was one. While a backfilled one has its turn, caught-up
-- runs may be placed.
local function hold_next(flights, front, name, letter, fresh)
  local list = flights.behind[name]
  if not list or #list == 0 then return false end
  local first = table.remove(list, 1)
  local planned = match(first, '%d.*')
  local backfilled = planned ~= first
  flights.left[#flights.left + 1] = name .. '\t' .. first
  front[#front + 1] = name .. '@' .. planned
  letter = backfilled and string.upper(letter) or string.lower(letter)
  if backfilled and fresh == '' then flights.freed[name] = true end
  set_open(flights, name, opening(name .. '@' .. planned, '0', '', '', letter, fresh))
  return true
end

-- end_flight ends the flight of the occurrence id of the schedule name, if it holds the schedule. how: 'final' it has ended; 'later' it
-- will come back, and waits elsewhere; 'front' it goes back to ready. Returns the outcome: 'superseded' it ends, because under
-- policy cancel a newer one waits behind it; 'behind' it waits behind an older one; nil: as given by how.
local function end_flight(flights, front, name, id, how)
  local open_id, fence, _, _, letter, fresh = opened(flights.opens[name])
  if open_id ~= id then return nil end
  if fence == '-' then
    if how == 'final' then set_open(flights, name, false) end
    return nil
  end
  local _, planned = occurrence(id)
  local oldest = flights.behind[name] and flights.behind[name][1]
  if fresh == planned then fresh = '' end -- it was the new one itself
  if how ~= 'final' and letter == 'c' and oldest and oldest > planned and byte(oldest, 1) ~= 126 then
    hold_next(flights, front, name, letter, fresh)
    return 'superseded'
  end
  if how == 'front' then
    if oldest and oldest < planned then
      hold_next(flights, front, name, letter, fresh)
      wait_behind(flights, name, planned)
      return 'behind'
    end
    set_open(flights, name, opening(id, '0', '', '', letter, fresh))
  elseif not hold_next(flights, front, name, letter, fresh) then
    set_open(flights, name, how == 'later' and letter == 'c' and opening(id, '-', '', '', letter, ''))
    flights.freed[name] = true
  end
  return nil
end

-- save_flights writes the changes to the hash open and the sorted set behind.
local function save_flights(flights, open, behind)
  local set, none = {}, {}
  for name in pairs(flights.changed) do
    local entry = flights.opens[name]
    if entry then
      set[#set + 1] = name
      set[#set + 1] = entry
    else
      none[#none + 1] = name
    end
  end
  if #none > 0 then redis.call('HDEL', open, unpack(none)) end
  if #set > 0 then redis.call('HSET', open, unpack(set)) end
  for _, member in ipairs(flights.joined) do redis.call('ZADD', behind, '0', member) end
  if #flights.left > 0 then redis.call('ZREM', behind, unpack(flights.left)) end
end

-- push_front puts the IDs of the list front at the front of the list ready, the first of them foremost.
local function push_front(ready, front)
  local n, foremost_last = #front, {}
  for i = n, 1, -1 do foremost_last[n + 1 - i] = front[i] end
  if n > 0 then redis.call('LPUSH', ready, unpack(foremost_last)) end
end
