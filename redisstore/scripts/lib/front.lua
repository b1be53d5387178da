-- front: the places of jobs of groups that come before all others of their groups.
-- needs: clock line

-- places_in_front returns entries of places with which these jobs come before all others of their groups that wait, in the given order. entries:
-- their present ones, with the same indexes as ids.
local function places_in_front(line, ids, entries)
  local members_of, next_of = {}, {} -- group -> how many of the jobs it has; the next place
  for i in pairs(ids) do
    local group = string.match(entries[i], ' (.+)$')
    if not members_of[group] then
      local first = redis.call('ZRANGEBYLEX', line, '[' .. group .. '\t', '(' .. group .. '\n', 'LIMIT', '0', '1')[1]
      next_of[group] = first and tonumber(string.match(first, '^[^\t]*\t(%d+)\t')) or now_us
    end
    members_of[group] = (members_of[group] or 0) + 1
  end
  local positions, new = {}, {}
  for i in pairs(ids) do positions[#positions + 1] = i end
  table.sort(positions)
  for group, n in pairs(members_of) do next_of[group] = math.max(next_of[group] - n, 0) end
  for _, i in ipairs(positions) do
    local group = string.match(entries[i], ' (.+)$')
    new[i] = string.format('%016d', next_of[group]) .. ' ' .. group
    next_of[group] = next_of[group] + 1
  end
  return new
end
