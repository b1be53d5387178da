-- unfinished: the maximum of unfinished runs that the option MaxUnfinished sets.
-- needs: strings counters

local FULL = ({ counters_of('') })[10] -- the counter of occurrences that were skipped because of it; they are counted in SKIPPED too

-- max_unfinished returns how many unfinished runs the schedule of a definition may have; 0: any number.
local function max_unfinished(text)
  local at = match(text or '', '^{"revision":%d+,"generation":%d+,"state":"[^"]+","created":"[^"]+","overlap":"%a+","version":%d+,()')
  if not at then return 0 end
  at = match(text, '^"spread":"[^"]+","offsetMs":%d+,()', at) or at
  return tonumber(match(text, '^"maxUnfinished":(%d+),', at) or 0)
end

-- too_many returns the reason for which a run was skipped: its schedule has the maximum number of unfinished runs.
local function too_many(most)
  return most .. ' runs of the schedule have not ended, the maximum'
end
