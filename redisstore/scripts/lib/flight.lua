-- flight: needs OPEN, SCHEDULES, CURSORS, the list front (of IDs that go to the front of ready, the first of them foremost) and the
-- piece definition. What is known of the schedules whose occurrences a call touches.

-- occurrence splits the ID of an occurrence into schedule and planned instant; other IDs give nothing.
local function occurrence(id)
  return string.match(id, '^([^@]+)@(.+)$')
end

-- opens[name] is false or { id, fence, worker, parked }: the occurrence in flight (fence '0': waiting to come back).
local opens, definitions, cursors = {}, {}, {}
local function learn(names)
  if #names == 0 then return end
  local o = redis.call('HMGET', OPEN, unpack(names))
  local d = redis.call('HMGET', SCHEDULES, unpack(names))
  local c = redis.call('HMGET', CURSORS, unpack(names))
  for i, name in ipairs(names) do
    local id, fence, holder, parked = string.match(o[i] or '', '^([^|]*)|([^|]*)|([^|]*)|([^|]*)$')
    opens[name] = id and { id = id, fence = fence, worker = holder, parked = parked } or false
    definitions[name], cursors[name] = d[i], c[i]
  end
end

-- landed ends the flight of an occurrence, for good or to come back; what is parked behind it goes to the front: under policy
-- cancel ahead of one that comes back to the front itself, which it replaces.
local function landed(name, id, final)
  local open = opens[name]
  if not open or open.id ~= id then return end
  if open.parked ~= '' then
    local _, _, _, overlap = head(definitions[name])
    table.insert(front, overlap == 'cancel' and front[#front] == id and #front or #front + 1, open.parked)
  end
  if final then
    opens[name] = false
    redis.call('HDEL', OPEN, name)
  else
    open.fence, open.worker, open.parked = '0', '', ''
    redis.call('HSET', OPEN, name, id .. '|0||')
  end
end
