-- annex: the additional values of some settlements, see the title page of work.lua.
-- needs: strings limits clock call over

-- annexes_of returns the annexes of settlements by their positions: for each letter its data; r has three values, i has two. They begin after
-- args[at]; there are n of them.
local function annexes_of(args, at, n)
  local annexes = {}
  for i = at + 1, at + 3 * n, 3 do
    local position, letter, data = tonumber(args[i]), args[i + 1], args[i + 2]
    local annex = annexes[position] or {}
    if letter == 'r' then
      local keep, queue, record_at = match(data, '^(%d+) (%S+) ()')
      annex.keep_ms, annex.queue, annex.record = tonumber(keep), queue, sub(data, record_at)
    elseif letter == 'i' then
      annex.in_ms, annex.group = tonumber(match(data, '^%d+')), match(data, '\t(.*)$')
    end
    annex[letter] = data
    annexes[position] = annex
  end
  return annexes
end

-- save_annexes writes the results of settlements with annexes in call.results, four values each: ID, queue, how long its result is kept in
-- ms (0: not here, because the job is among the dead), the result. It removes the progress of the jobs in call.reported. It notifies callers that
-- wait for one of these jobs on its channel, with the prefix wake. results, kept, progress: the keys.
local function save_annexes(call, results, kept, progress, wake)
  if #call.reported > 0 then redis.call('HDEL', progress, unpack(call.reported)) end
  local records, untils, channel = {}, {}, wake .. 'ended:'
  for i = 1, #call.results, 4 do
    local id, keep_ms, record = call.results[i], call.results[i + 2], call.results[i + 3]
    if keep_ms > 0 then
      add_pair(records, id, record)
      add_pair(untils, whole(now_ms + keep_ms), id)
    end
  end
  if #records > 0 then
    drop_results(over_in(kept, #records / 2), results, kept)
    redis.call('HSET', results, unpack(records))
    redis.call('ZADD', kept, unpack(untils))
  end
  for i = 1, #call.results, 4 do redis.call('PUBLISH', channel .. call.results[i + 1] .. '\t' .. call.results[i], 'e') end
end

-- add_kept adds to annexes, under their negative positions among the finished jobs, the results of jobs that were cancelled or replaced
-- meanwhile; cancelled: three values for each, the last is that position; keeps: see the piece kept.
local function add_kept(annexes, args, keeps, finished, cancelled)
  for i = 3, #cancelled, 3 do
    if cancelled[i] < 0 then
      local at = keeps.at + 2 * (keeps.n - finished - cancelled[i])
      annexes[cancelled[i]] = { r = true, keep_ms = tonumber(args[at - 1]), queue = keeps.queue, record = sub(args[at], 2) }
    end
  end
end
