-- residents.lua: list the schedules that live in a partition, some at a time. It skips the marks of moved schedules.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- ARGV[1] the position in the list, as the last call answered; 0 begins
-- Returns the new position, 0 at the end; then two values for each schedule: name, generation.
local COUNT = 100 -- about how many definitions a call reads
-- uses: definition
local page = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', COUNT)
local answer = { page[1] }
for i = 1, #page[2], 2 do
  local h = head(page[2][i + 1])
  if h and not is_mark(h.state) then
    answer[#answer + 1] = page[2][i]
    answer[#answer + 1] = h.generation
  end
end
return answer
