-- flight: what a call knows of the schedules whose occurrences it touches, and what it makes of their entries in …:open.
-- needs: strings definition open

-- occurrence splits the ID of an occurrence into schedule and planned instant; of another ID it returns nothing.
local function occurrence(id)
  local at = find(id, '@', 1, true)
  if at then return sub(id, 1, at - 1), sub(id, at + 1) end
end

-- read_flights reads the schedules names: of each its entry in the hash open; where needed[name], or where an occurrence is parked,
-- its definition and cursor in the hashes schedules and cursors. Returns the table that the other functions get: opens[name],
-- definitions[name], cursors[name] are what is stored, false if nothing is; changed[name]: save_opens writes opens[name].
local function read_flights(open, schedules, cursors, names, needed)
  local flights = { opens = {}, definitions = {}, cursors = {}, changed = {} }
  if #names == 0 then return flights end
  local entries, read = redis.call('HMGET', open, unpack(names)), {}
  for i, name in ipairs(names) do
    flights.opens[name] = entries[i]
    if needed[name] or entries[i] and byte(entries[i], -1) ~= 124 then read[#read + 1] = name end -- 124 is |: nothing is parked
  end
  if #read == 0 then return flights end
  local texts = redis.call('HMGET', schedules, unpack(read))
  local stored = redis.call('HMGET', cursors, unpack(read))
  for i, name in ipairs(read) do flights.definitions[name], flights.cursors[name] = texts[i], stored[i] end
  return flights
end

-- set_open changes the entry of a schedule; false removes it.
local function set_open(flights, name, entry)
  flights.opens[name], flights.changed[name] = entry, true
end

-- save_opens writes the entries that have changed to the hash open.
local function save_opens(flights, open)
  local set, gone = {}, {}
  for name in pairs(flights.changed) do
    local entry = flights.opens[name]
    if entry then
      set[#set + 1] = name
      set[#set + 1] = entry
    else
      gone[#gone + 1] = name
    end
  end
  if #gone > 0 then redis.call('HDEL', open, unpack(gone)) end
  if #set > 0 then redis.call('HSET', open, unpack(set)) end
end

-- end_flight ends the flight of the occurrence id of the schedule name: for good (final) or to come back. What is parked behind it
-- joins the list front, the IDs that go to the front of ready: under policy cancel it goes ahead of id, which it replaces, if id
-- is the last of that list.
local function end_flight(flights, front, name, id, final)
  local entry = flights.opens[name]
  if not entry or find(entry, '|', 1, true) ~= #id + 1 or sub(entry, 1, #id) ~= id then return end
  if byte(entry, -1) ~= 124 then
    local _, _, _, parked = opened(entry)
    local _, _, overlap = policy(flights.definitions[name])
    table.insert(front, overlap == 'cancel' and front[#front] == id and #front or #front + 1, parked)
  end
  set_open(flights, name, not final and id .. '|0||')
end

-- push_front puts the IDs of the list front at the front of the list ready, the first of them foremost.
local function push_front(ready, front)
  local n, foremost_last = #front, {}
  for i = n, 1, -1 do foremost_last[n + 1 - i] = front[i] end
  if n > 0 then redis.call('LPUSH', ready, unpack(foremost_last)) end
end
