-- suspects: jobs whose holders vanished twice or more often. A worker gets one at a time, and nothing else in the same call, so that the
-- job that makes the next holder vanish is known.
local SUSPECT_CRASHES = 2
local LATER_MS = 1000 -- the delay of a suspect that must wait for another one, up to twice that

-- set_apart decides which candidates a call keeps if a suspect is among them. It returns their positions, and those of the suspects that become
-- due a little later, so that they delay nothing; nil: there is no suspect. from[i] is the place of the i-th of ids; crashes[i]
-- is how often its holders vanished; one: the worker may get a suspect. The jobs of ready that it keeps or delays are its head.
local function set_apart(ids, from, crashes, one)
  local suspect, found, n_ready, chosen, barrier = {}, false, 0, nil, nil
  for i = 1, #ids do
    if tonumber(crashes[i] or 0) and tonumber(crashes[i] or 0) >= SUSPECT_CRASHES then
      suspect[i], found = true, true
      if one and not chosen and (from[i] or n_ready == 0) then chosen = i end
      if one and not from[i] and not barrier then barrier = i end
    end
    if not from[i] then n_ready = n_ready + 1 end
  end
  if not found then return nil end
  local kept, later = { chosen }, {}
  for i = 1, #ids do
    if i == chosen then
    elseif suspect[i] then
      if from[i] == 'd' or not from[i] and not one then later[#later + 1] = i end
    elseif not chosen and (from[i] or not barrier or i < barrier) then
      kept[#kept + 1] = i
    end
  end
  return kept, later
end
