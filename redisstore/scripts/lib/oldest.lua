-- oldest: since when the job of a group waits that has waited longest, among those that run next.

local OLDEST_GROUPS = 10 -- how many groups are read at each end of turns: those whose turn is next, and those that hold the most slots
local FIRST_DRAWN = 909090909090910 -- a place that was drawn is later, a place in front of all others is lower, see lib/groups.lua

-- oldest_in_line returns since when the first job of one of these groups waits, Unix us; nil: no such group has a job of which this is known. A requeued
-- job has a place that contains no instant. line, turns: the keys.
local function oldest_in_line(line, turns)
  local oldest
  for _, from in ipairs({ 0, -OLDEST_GROUPS }) do
    for _, member in ipairs(redis.call('ZRANGE', turns, from, from + OLDEST_GROUPS - 1)) do
      local name = string.sub(member, 40) -- behind the tag and a tab
      local first = redis.call('ZRANGEBYLEX', line, '[' .. name .. '\t', '(' .. name .. '\n', 'LIMIT', '0', '1')[1]
      local place = first and tonumber(string.sub(first, #name + 2, #name + 17)) or 0
      if place >= FIRST_DRAWN and (not oldest or place < oldest) then oldest = place end
    end
  end
  return oldest
end
