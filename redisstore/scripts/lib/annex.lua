-- annex: what few settlements have besides their four values, see the title page of work.lua.
-- needs: strings limits clock call

-- annexes_of returns the annexes of settlements by their positions: for each letter its data; r has three values. They begin behind
-- args[at]; there are n of them.
local function annexes_of(args, at, n)
  local annexes = {}
  for i = at + 1, at + 3 * n, 3 do
    local position, letter, data = tonumber(args[i]), args[i + 1], args[i + 2]
    local annex = annexes[position] or {}
    if letter == 'r' then
      local keep, queue, record_at = match(data, '^(%d+) (%S+) ()')
      annex.keep_ms, annex.queue, annex.record = tonumber(keep), queue, sub(data, record_at)
    end
    annex[letter] = data
    annexes[position] = annex
  end
  return annexes
end

-- save_annexes writes what the settlements with annexes have left in call.results, four values each: ID, queue, how long its result is kept in
-- ms (0: not here, for the job is among the dead), the result; and removes the progress of those that reported any, call.reported. Whoever waits
-- for one of these is told on the channel of the prefix wake. results, kept, progress: the keys.
local function save_annexes(call, results, kept, progress, wake)
  if #call.reported > 0 then redis.call('HDEL', progress, unpack(call.reported)) end
  for i = 1, #call.results, 4 do
    local id, keep_ms = call.results[i], call.results[i + 2]
    if keep_ms > 0 then
      redis.call('HSET', results, id, call.results[i + 3])
      redis.call('ZADD', kept, whole(now_ms + keep_ms), id)
    end
    redis.call('PUBLISH', wake .. 'ended:' .. call.results[i + 1] .. '\t' .. id, 'e')
  end
end
