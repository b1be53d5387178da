-- revoked: members of cancelled batches among the candidates of a take. They end as cancelled in the step that finds them, and are not taken.
-- needs: members

-- revoked_in returns those of ids that are members of batches which are cancelled in this partition, ID -> batch; nil if there is no such job. bodies: their
-- envelopes; batches: the key.
local function revoked_in(ids, bodies, batches)
  local batch_of, names, marked, found = {}, {}, {}, nil
  for i, id in ipairs(ids) do
    local batch = bodies[i] and batch_in(bodies[i])
    batch_of[id] = batch
    if batch and marked[batch] == nil then names[#names + 1], marked[batch] = batch, false end
  end
  for i, text in ipairs(#names > 0 and redis.call('HMGET', batches, unpack(names)) or {}) do
    marked[names[i]] = string.find(counts_of(text).flags, 'x', 1, true)
  end
  for id, batch in pairs(batch_of) do
    if marked[batch] then
      found = found or {}
      found[id] = batch
    end
  end
  return found
end
