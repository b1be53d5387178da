-- residents.lua: list the schedules that live in a partition, and the marks of those that have moved, some at a time.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:owners     hash  schedule -> its owner, see lib/owner.lua
-- ARGV[1] the position in the list, as the last call answered; 0 begins
-- Returns the new position, 0 at the end; then five values for each: name, generation, when it was created, its
-- owner (empty: none), the queue to which it moves, or has moved (empty: it lives here).
local COUNT = 90 -- HSCAN returns some more; what follows handles 100 in a call
-- uses: definition
local page = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', COUNT)
local names, heads, answer = {}, {}, { page[1] }
for i = 1, #page[2], 2 do
  local h = head(page[2][i + 1])
  if h then names[#names + 1], heads[#heads + 1] = page[2][i], h end
end
local owners = #names > 0 and redis.call('HMGET', KEYS[2], unpack(names)) or {}
for i, name in ipairs(names) do
  local n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3], answer[n + 4] = name, heads[i].generation, heads[i].created, owners[i] or ''
  answer[n + 5] = is_mark(heads[i].state) and string.match(heads[i].state, '^moved to (%S+)') or ''
end
return answer
