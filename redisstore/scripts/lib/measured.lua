-- measured: the hash …:measured, the measurements of workers since the last sample. L, W, R: durations of lateness, wait and run; n<job name>:
-- the same for jobs of that name; names: "\t<name>\t<name>…", the names that are counted separately until the hour ends. All but names are
-- texts of the piece sums.
-- needs: sums

-- add_measured returns the fields that change in the hash measured, with their values. args has from the position at on: lateness, wait, run,
-- then two values for each job name: name, text.
local function add_measured(measured, args, at)
  local fields, texts = { 'names', 'L', 'W', 'R' }, { '', args[at], args[at + 1], args[at + 2] }
  for i = at + 3, #args - 1, 2 do
    fields[#fields + 1], texts[#texts + 1] = 'n' .. args[i], args[i + 1]
  end
  fields[#fields + 1] = 'n' .. OTHER_NAMES
  local stored, changed, others = redis.call('HMGET', measured, unpack(fields)), {}, nil
  local names, n_names = stored[1] or '', 0
  for _ in string.gmatch(names, '\t') do n_names = n_names + 1 end
  for i, text in ipairs(texts) do
    local field, name = fields[i], i > 4 and string.sub(fields[i], 2)
    if name and not string.find(names .. '\t', '\t' .. name .. '\t', 1, true) then
      if name ~= OTHER_NAMES and n_names < MAX_NAMES then
        names, n_names = names .. '\t' .. name, n_names + 1
      else
        others, text = add_sums(others or stored[#fields], text), ''
      end
    end
    if text ~= '' then changed[#changed + 1], changed[#changed + 2] = field, add_sums(stored[i], text) end
  end
  if others then changed[#changed + 1], changed[#changed + 2] = 'n' .. OTHER_NAMES, others end
  if names ~= (stored[1] or '') then changed[#changed + 1], changed[#changed + 2] = 'names', names end
  return changed
end
