-- candidates: which candidates a call keeps when too many of them are occurrences.
-- needs: strings

-- bounded returns the positions of the candidates to keep, so that at most max are occurrences; nil: all of them. from[i] is the place
-- of the i-th of ids. Due candidates ('d') and the others alternate, so that neither wait for the other; due_first: which
-- begin.
local function bounded(ids, from, max, due_first)
  local n_ids = #ids
  if n_ids <= max then return nil end
  local others, due = {}, {}
  for i = 1, n_ids do
    local list = from[i] == 'd' and due or others
    list[#list + 1] = i
  end
  local lists = due_first and { due, others } or { others, due }
  local at, turn, order = { 1, 1 }, 1, {}
  for _ = 1, n_ids do
    if not lists[turn][at[turn]] then turn = 3 - turn end
    local i = lists[turn][at[turn]]
    if find(ids[i], '@', 1, true) then max = max - 1 end
    if max < 0 and #order > 0 then break end
    order[#order + 1] = i
    at[turn] = at[turn] + 1
    turn = 3 - turn
  end
  return order
end

-- picked returns the values of list at these positions.
local function picked(list, positions)
  local values = {}
  for i, position in ipairs(positions) do values[i] = list[position] end
  return values
end
