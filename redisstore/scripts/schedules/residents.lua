-- residents.lua: list the schedules that live in a partition, some at a time. It skips the marks of moved schedules.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:owners     hash  schedule -> its owner, see lib/owner.lua
-- ARGV[1] the position in the list, as the last call answered; 0 begins
-- Returns the new position, 0 at the end; then four values for each schedule: name, generation, when it was created, its owner (empty: none).
local COUNT = 90 -- HSCAN returns some more; what follows handles 100 in a call
-- uses: definition
local page = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', COUNT)
local names, heads, answer = {}, {}, { page[1] }
for i = 1, #page[2], 2 do
  local h = head(page[2][i + 1])
  if h and not is_mark(h.state) then names[#names + 1], heads[#heads + 1] = page[2][i], h end
end
local owners = #names > 0 and redis.call('HMGET', KEYS[2], unpack(names)) or {}
for i, name in ipairs(names) do
  local n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3], answer[n + 4] = name, heads[i].generation, heads[i].created, owners[i] or ''
end
return answer
