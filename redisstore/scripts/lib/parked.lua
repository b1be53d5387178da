-- parked: needs STATE. The names with parked jobs, kept in the field parked of the state, separated by spaces.
local parked_names, parked_changed = {}, false

local function read_parked(text)
  for name in string.gmatch(text or '', '%S+') do parked_names[name] = true end
end

local function set_parked(name, is)
  if (parked_names[name] or false) ~= is then
    parked_names[name] = is or nil
    parked_changed = true
  end
end

local function parked_list()
  local list = {}
  for name in pairs(parked_names) do list[#list + 1] = name end
  table.sort(list)
  return list
end

local function save_parked()
  if not parked_changed then return end
  local list = parked_list()
  if #list > 0 then
    redis.call('HSET', STATE, 'parked', table.concat(list, ' '))
  else
    redis.call('HDEL', STATE, 'parked')
  end
end
