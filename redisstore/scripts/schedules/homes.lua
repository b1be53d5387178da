-- homes.lua: look up the entries of many schedules in the registry.
-- KEYS[1] …:schedules  zset  "<schedule>\t<queue>\t<generation>" -> 0
-- ARGV names, at most 500
-- Returns the entry of each, the first one if a name has several; empty: none.
local answer = {}
for i, name in ipairs(ARGV) do
  answer[i] = redis.call('ZRANGEBYLEX', KEYS[1], '[' .. name .. '\t', '(' .. name .. '\n', 'LIMIT', 0, 1)[1] or ''
end
return answer
