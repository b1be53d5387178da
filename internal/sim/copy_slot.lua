-- copy_slot.lua: read all keys of a slot in one step.
-- ARGV patterns of its keys
-- Returns for each key: its name, its type, its TTL in milliseconds (0: none), how many values follow, and these values as restore_slot.lua needs them.
local answer = {}
for _, pattern in ipairs(ARGV) do
  for _, key in ipairs(redis.call('KEYS', pattern)) do
    local kind = redis.call('TYPE', key).ok
    local values = {}
    if kind == 'string' then
      values = { redis.call('GET', key) }
    elseif kind == 'hash' then
      values = redis.call('HGETALL', key)
    elseif kind == 'list' then
      values = redis.call('LRANGE', key, 0, -1)
    elseif kind == 'set' then
      values = redis.call('SMEMBERS', key)
    elseif kind == 'zset' then
      values = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    elseif kind == 'stream' then
      for _, entry in ipairs(redis.call('XRANGE', key, '-', '+')) do
        values[#values + 1] = entry[1]
        values[#values + 1] = #entry[2]
        for _, value in ipairs(entry[2]) do values[#values + 1] = value end
      end
    end
    for _, value in ipairs({ key, kind, math.max(redis.call('PTTL', key), 0), #values }) do answer[#answer + 1] = value end
    for _, value in ipairs(values) do answer[#answer + 1] = value end
  end
end
return answer
