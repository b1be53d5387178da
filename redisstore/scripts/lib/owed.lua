-- owed: the scores of …:owed, the instants since when the next occurrences of schedules are to be placed, Unix ms. While a schedule
-- waits for the end of its flight, because it catches up one run at a time, its score has HELD added, so that nobody finds it.
-- Model: OWE in models/placing.pml.
local HELD = 2 ^ 50

-- owed_since returns the instant of a score, Unix ms; nil if there is no score.
local function owed_since(score)
  local ms = tonumber(score)
  return ms and ms >= HELD and ms - HELD or ms
end
