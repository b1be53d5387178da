-- parked: the names that have parked jobs: the field parked of …:state, separated by spaces.

-- read_parked returns these names as the table that the other functions get: names[name] is true, changed says whether to write.
local function read_parked(text)
  local parked = { names = {}, changed = false }
  for name in string.gmatch(text or '', '%S+') do parked.names[name] = true end
  return parked
end

-- set_parked notes whether a name has parked jobs.
local function set_parked(parked, name, has)
  if (parked.names[name] or false) ~= has then
    parked.names[name] = has or nil
    parked.changed = true
  end
end

-- parked_list returns the names in order.
local function parked_list(parked)
  local list = {}
  for name in pairs(parked.names) do list[#list + 1] = name end
  table.sort(list)
  return list
end

-- save_parked writes the names to the hash state if they have changed.
local function save_parked(parked, state)
  if not parked.changed then return end
  local list = parked_list(parked)
  if #list > 0 then
    redis.call('HSET', state, 'parked', table.concat(list, ' '))
  else
    redis.call('HDEL', state, 'parked')
  end
end
