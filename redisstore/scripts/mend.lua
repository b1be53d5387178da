-- mend.lua: let schedules go on that stand nowhere, because a hand, an eviction or a failover took what they wait for. A schedule that
-- stands as it should is left alone.
-- KEYS[1] …:owed  zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[2] …:open  hash  schedule -> see lib/open.lua
-- ARGV the names of the schedules
-- Returns two values for each schedule that goes on: name, and what was wrong with it: "held" it waited for the end of a flight that
-- is none.
local OWED, OPEN = KEYS[1], KEYS[2]
-- uses: clock owed open
local names = ARGV
local owed = redis.call('ZMSCORE', OWED, unpack(names))
local opens = redis.call('HMGET', OPEN, unpack(names))

local answer, owes = {}, {}
for i, name in ipairs(names) do
  local since = tonumber(owed[i] or 0)
  if since >= HELD and not is_held(opens[i]) then
    owes[#owes + 1] = whole(math.min(owed_since(owed[i]), now_ms))
    owes[#owes + 1] = name
    answer[#answer + 1] = name
    answer[#answer + 1] = 'held'
  end
end
if #owes > 0 then redis.call('ZADD', OWED, unpack(owes)) end
return answer
