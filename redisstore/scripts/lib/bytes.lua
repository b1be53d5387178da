-- bytes: how many candidates one call takes by their length.
-- needs: limits

-- cut_bytes cuts the list of candidates before the one whose envelope, or definition, would make the answer longer than about
-- CALL_BYTES; the first one always remains. Returns whether it removed any. from[i] is the place of the i-th of ids.
local function cut_bytes(ids, from, jobs, schedules)
  local bytes = 0
  for i, id in ipairs(ids) do
    local length = redis.call('HSTRLEN', jobs, id)
    local name = length == 0 and string.match(id, '^(.+)@') -- a name may have an @ itself
    if name then length = 2 * redis.call('HSTRLEN', schedules, name) end -- the answer has it twice: as data and as what is owed
    bytes = bytes + length
    if i > 1 and bytes > CALL_BYTES then
      for j = #ids, i, -1 do ids[j], from[j] = nil, nil end
      return true
    end
  end
  return false
end
