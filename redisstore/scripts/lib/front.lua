-- front: the places of jobs of groups that come before all others of their groups.
-- needs: clock queuelimit starts line groups

-- places_in_front returns entries of places with which these jobs come before all others of their groups, in the given order. entries:
-- their present ones, with the same indexes as ids.
local function places_in_front(all, ids, entries)
  local positions, new = {}, {}
  for i in pairs(ids) do positions[#positions + 1] = i end
  table.sort(positions)
  for k = #positions, 1, -1 do
    local i = positions[k]
    new[i] = string.format('%016d', place_in_front(all)) .. ' ' .. string.match(entries[i], ' (.+)$')
  end
  return new
end
