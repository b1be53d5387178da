-- register_schedules.lua: write in which queue schedules live, unless that is known, and return where they live.
-- KEYS[1] …:schedules  zset  "<schedule>\t<queue>\t<generation>" -> 0, one member a schedule
-- ARGV two values for each schedule: name, queue
-- Returns the queue and the generation of each.
local REGISTRY = KEYS[1]
-- uses: clock
local answer, new, members = {}, {}, {}
for i = 1, #ARGV, 2 do
  local name = ARGV[i]
  local member = members[name] or redis.call('ZRANGEBYLEX', REGISTRY, '[' .. name .. '\t', '(' .. name .. '\n', 'LIMIT', '0', '1')[1]
  if not member then
    member = name .. '\t' .. ARGV[i + 1] .. '\t' .. whole(now_us)
    new[#new + 1] = 0
    new[#new + 1] = member
  end
  members[name] = member
  answer[i], answer[i + 1] = string.match(string.sub(member, #name + 2), '^([^\t]*)\t(%d+)$')
  if not answer[i] then return redis.error_reply('CHIMEREGISTRY the entry of schedule ' .. name .. ' in the registry cannot be read') end
end
if #new > 0 then redis.call('ZADD', REGISTRY, unpack(new)) end
return answer
