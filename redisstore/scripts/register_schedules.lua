-- register_schedules.lua: write in which queue schedules live, unless that is known, and return where they live.
-- KEYS[1] …:schedules  hash  schedule -> queue
-- ARGV two values for each schedule: name, queue
-- Returns the queue of each.
local REGISTRY = KEYS[1]
local names = {}
for i = 1, #ARGV, 2 do names[#names + 1] = ARGV[i] end
local homes = redis.call('HMGET', REGISTRY, unpack(names))
local new, queues = {}, {}
for i, name in ipairs(names) do
  if not homes[i] then
    homes[i] = queues[name]
  end
  if not homes[i] then
    homes[i], queues[name] = ARGV[2 * i], ARGV[2 * i]
    new[#new + 1] = name
    new[#new + 1] = homes[i]
  end
end
if #new > 0 then redis.call('HSET', REGISTRY, unpack(new)) end
return homes
