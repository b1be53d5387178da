-- again: a call of a session that is sent a second time.
-- needs: session

-- taken_since returns the IDs of the jobs in the hash inflight that have this fence or a later one, in the order of their fences, and
-- how many of them have begun: the jobs that a call took whose first fence this is.
local function taken_since(inflight, first_fence)
  local fields, jobs, ids, begun = redis.call('HGETALL', inflight), {}, {}, 0
  for i = 1, #fields, 2 do
    local fence = string.match(fields[i + 1], '^[%-!%+]?(%d+)$')
    if fields[i] ~= SELF and fence and tonumber(fence) >= first_fence then
      jobs[#jobs + 1] = { id = fields[i], fence = tonumber(fence), begun = fields[i + 1] == fence,
        unsaid = string.find(fields[i + 1], '^[!%+]') ~= nil }
    end
  end
  table.sort(jobs, function(a, b) return a.fence < b.fence end)
  for i, job in ipairs(jobs) do
    ids[i] = job.id
    if job.begun or job.unsaid and begun == i - 1 then begun = i end -- the sign of a job that was cancelled or replaced since hides whether it has begun
  end
  return ids, begun
end
