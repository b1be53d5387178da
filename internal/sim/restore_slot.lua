-- restore_slot.lua: replace all keys of a slot in one step.
-- ARGV[1] how many patterns of keys follow, then the patterns, then what copy_slot.lua has returned
local patterns = tonumber(ARGV[1])
for i = 2, patterns + 1 do
  for _, key in ipairs(redis.call('KEYS', ARGV[i])) do redis.call('DEL', key) end
end
local at = patterns + 2
while at <= #ARGV do
  local key, kind, ttl, n = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local first, last = at + 4, at + 3 + n
  at = last + 1
  local i = first
  while i <= last do
    if kind == 'string' then
      redis.call('SET', key, ARGV[i])
    elseif kind == 'hash' then
      redis.call('HSET', key, ARGV[i], ARGV[i + 1])
      i = i + 1
    elseif kind == 'list' then
      redis.call('RPUSH', key, ARGV[i])
    elseif kind == 'set' then
      redis.call('SADD', key, ARGV[i])
    elseif kind == 'zset' then
      redis.call('ZADD', key, ARGV[i + 1], ARGV[i])
      i = i + 1
    elseif kind == 'stream' then
      local id, fields, entry = ARGV[i], tonumber(ARGV[i + 1]), {}
      for j = 1, fields do entry[j] = ARGV[i + 1 + j] end
      redis.call('XADD', key, id, unpack(entry))
      i = i + 1 + fields
    end
    i = i + 1
  end
  if ttl > 0 then redis.call('PEXPIRE', key, ttl) end
end
return 0
