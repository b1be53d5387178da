-- histories: removal of the entries of schedules in …:history, see the piece history.

-- fields_of returns all fields of a schedule's history. text: its head.
local function fields_of(name, text)
  local fields = { name }
  local short, first, last = string.match(text or '', '^=(%w+) (%d+) (%d+) ')
  if not short or tonumber(last) - tonumber(first) >= 4000 then return fields end
  for n = tonumber(first), tonumber(last) do fields[#fields + 1] = short .. '\t' .. string.format('%d', n) end
  return fields
end

-- remove_fields removes fields. history: the key.
local function remove_fields(history, fields)
  for i = 1, #fields, 1000 do redis.call('HDEL', history, unpack(fields, i, math.min(i + 999, #fields))) end
end
