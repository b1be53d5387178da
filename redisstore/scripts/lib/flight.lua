-- flight: needs OPEN, SCHEDULES, CURSORS, the list front (of IDs that go to the front of ready, the first of them foremost) and the
-- piece definition. What is known of the schedules whose occurrences a call touches.

-- occurrence splits the ID of an occurrence into schedule and planned instant; other IDs give nothing.
local function occurrence(id)
  local at = string.find(id, '@', 1, true)
  if at then return string.sub(id, 1, at - 1), string.sub(id, at + 1) end
end

-- opens[name] is false or "<occurrence>|<fence>|<worker>|<parked behind it>": the occurrence in flight (fence 0: waiting to come back).
-- What a call makes of it is written once, by save_opens.
local opens, opens_changed = {}, {}
local definitions, cursors = {}, {}

-- learn reads what is open of these schedules; definition and cursor of those that are needed, and where one is parked.
local function learn(names, needed)
  if #names == 0 then return end
  local open, whole_names = redis.call('HMGET', OPEN, unpack(names)), {}
  for i, name in ipairs(names) do
    opens[name] = open[i]
    if needed[name] or open[i] and string.byte(open[i], -1) ~= 124 then whole_names[#whole_names + 1] = name end
  end
  if #whole_names == 0 then return end
  local d = redis.call('HMGET', SCHEDULES, unpack(whole_names))
  local c = redis.call('HMGET', CURSORS, unpack(whole_names))
  for i, name in ipairs(whole_names) do definitions[name], cursors[name] = d[i], c[i] end
end

-- opened returns occurrence, fence, worker and the one parked behind it; nothing where none is open.
local function opened(name)
  local open = opens[name]
  if open then return string.match(open, '^([^|]*)|([^|]*)|([^|]*)|([^|]*)$') end
end

local function set_open(name, text)
  opens[name], opens_changed[name] = text, true
end

local function save_opens()
  local set, gone = {}, {}
  for name in pairs(opens_changed) do
    local open = opens[name]
    if open then
      set[#set + 1] = name
      set[#set + 1] = open
    else
      gone[#gone + 1] = name
    end
  end
  if #gone > 0 then redis.call('HDEL', OPEN, unpack(gone)) end
  if #set > 0 then redis.call('HSET', OPEN, unpack(set)) end
end

-- landed ends the flight of an occurrence, for good or to come back; what is parked behind it goes to the front: under policy
-- cancel ahead of one that comes back to the front itself, which it replaces.
local function landed(name, id, final)
  local open = opens[name]
  if not open or string.find(open, '|', 1, true) ~= #id + 1 or string.sub(open, 1, #id) ~= id then return end
  if string.byte(open, -1) ~= 124 then
    local _, _, _, parked = opened(name)
    local _, _, overlap = policy(definitions[name])
    table.insert(front, overlap == 'cancel' and front[#front] == id and #front or #front + 1, parked)
  end
  set_open(name, not final and id .. '|0||')
end
