-- later: the occurrences that wait in …:behind after all others, because they are backfilled.
local LATER = '~' -- before their planned instants; it sorts after all digits

-- waits_behind returns the text in the set behind for an occurrence after its schedule's name; nil: it does not wait there.
local function waits_behind(behind, name, planned)
  local scores = redis.call('ZMSCORE', behind, name .. '\t' .. planned, name .. '\t' .. LATER .. planned)
  return scores[1] and planned or scores[2] and LATER .. planned or nil
end
