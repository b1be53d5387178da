-- followed: the jobs that follow finished ones at once, and belong to no group. follows lists them: n, how many; first, how many finished jobs come
-- before the followed ones; at, the argument after which two values for each begin: ID (see lib/follower.lua), envelope; without, the positions of
-- those whose settlement does not count.
-- needs: limits

-- follow_finished writes the envelopes, and returns the IDs as LPUSH needs them: the job that follows the first one comes last. jobs, state: the keys;
-- large: the field of state.
local function follow_finished(args, follows, jobs, state, large)
  local bodies, front, n, longest = {}, {}, 0, 0
  for i = follows.n, 1, -1 do
    if not follows.without[i] then
      local id, body = args[follows.at + 2 * i - 1], args[follows.at + 2 * i]
      n = n + 1
      bodies[2 * n - 1], bodies[2 * n], front[n] = id, body, id
      if #body > longest then longest = #body end
    end
  end
  if n > 0 then redis.call('HSET', jobs, unpack(bodies)) end
  if longest > LARGE_BYTES and not large then redis.call('HSET', state, 'large', '1') end
  return front
end
