-- register_schedules.lua: record in which queue schedules live, unless that is recorded, and return where they live.
-- Model: REGISTER_GEN_BODY in models/home.pml.
-- KEYS[1] …:schedules  zset  "<schedule>\t<queue>\t<generation>" -> 0, one member a schedule
-- ARGV three values for each schedule: name; queue; the generation of its definition there: an entry with a lower one is outdated and
-- replaced. Empty: there is no definition yet, and a generation is drawn.
-- Returns the queue and the generation of each; empty and 0 for one with a definition whose entry cannot be read.
local REGISTRY = KEYS[1]
-- uses: clock
local answer, old, new, members = {}, {}, {}, {}
for i = 1, #ARGV, 3 do
  local name, generation = ARGV[i], ARGV[i + 2]
  local member = members[name] or redis.call('ZRANGEBYLEX', REGISTRY, '[' .. name .. '\t', '(' .. name .. '\n', 'LIMIT', '0', '1')[1]
  local queue, known = string.match(string.sub(member or '', #name + 2), '^([^\t]*)\t(%d+)$')
  if member and not known and generation == '' then return redis.error_reply('CHIMEREGISTRY the entry of schedule ' .. name .. ' in the registry cannot be read') end
  if not members[name] and (not member or known and generation ~= '' and tonumber(generation) > tonumber(known)) then
    if member then old[#old + 1] = member end
    queue, known = ARGV[i + 1], generation ~= '' and generation or whole(now_us)
    member = name .. '\t' .. queue .. '\t' .. known
    new[#new + 1] = 0
    new[#new + 1] = member
  end
  members[name] = member
  answer[#answer + 1] = queue or ''
  answer[#answer + 1] = known or '0'
end
if #old > 0 then redis.call('ZREM', REGISTRY, unpack(old)) end
if #new > 0 then redis.call('ZADD', REGISTRY, unpack(new)) end
return answer
