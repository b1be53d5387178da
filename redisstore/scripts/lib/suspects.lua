-- suspects: jobs whose holders have vanished. An entry of …:crashes shows how often:
--   v      once, as far as is known without its handler: it had been taken ahead, and the store did not know whether it had begun
--   0      never: an occurrence without an envelope that came back
--   n      n times while its handler ran
--   n.k    and k times more, while other jobs had begun beside it, of any partition: one of these may have been the cause
--
-- If the holder of a job vanished once, in any of these ways, the job is never taken ahead again: so the store knows each time that its handler
-- begins. At most one of its runs is not counted. From n = 2 on the job is a suspect: a worker gets one suspect at a time, and nothing else in the
-- same call. So it is known which job makes the next holder vanish.
local SUSPECT_CRASHES = 2
local MAX_CRASHES = 5 -- crashes of a suspect, after which it no longer matters what ran beside it
local WATCH_US = 1000000 -- a worker that has a suspect begins nothing else for this long
local STEP_MS = 4 -- the delay of a suspect that must wait for another one; the next one waits twice that, and so on
local HELD_MS = 100 -- how much longer, if the caller holds a suspect and will for an unknown time

-- crashes_in returns the two numbers of an entry, n and k; nil: it has none.
local function crashes_in(text)
  local n, k = string.match(text or '', '^(%d+)%.?(%d*)$')
  if n and #n < 7 and #k < 7 then return tonumber(n), tonumber(k) or 0 end
end

-- begin_first returns as many of the positions kept as begin: in turns one in due and one of the others.
local function begin_first(kept, from, begins, due_first)
  local lists, at, turn, first = { {}, {} }, { 1, 1 }, due_first and 1 or 2, {}
  for _, i in ipairs(kept) do
    local list = from[i] == 'd' and lists[1] or lists[2]
    list[#list + 1] = i
  end
  while #first < begins and #first < #kept do
    if not lists[turn][at[turn]] then turn = 3 - turn end
    first[#first + 1] = lists[turn][at[turn]]
    at[turn] = at[turn] + 1
    turn = 3 - turn
  end
  return first
end

-- set_apart decides which candidates a call keeps if holders of some have vanished. It returns their positions; the positions of suspects that become
-- due a little later, so that they delay nothing; and a number for the worker: 1 a job waits that is not taken ahead, 2 suspects wait, 3 both.
-- nil: all are kept. from[i] is the place of the i-th of ids; crashes[i] its entry; one: the worker may get a suspect; begins: how many of them
-- begin, the others are taken ahead. If none begins, suspects stay where they are. The jobs of ready that it keeps or delays are its head.
local function set_apart(ids, from, crashes, one, begins, due_first)
  local suspect, found, vanished, n_ready, chosen, barrier = {}, false, false, 0, nil, nil
  for i = 1, #ids do
    local n = crashes_in(crashes[i])
    if n and n >= SUSPECT_CRASHES then
      suspect[i], found = true, true
      if one and begins > 0 and not chosen and (from[i] or n_ready == 0) then chosen = i end
      if one and not from[i] and not barrier then barrier = i end
    elseif crashes[i] == 'v' or n and n > 0 then
      vanished = true
    end
    if not from[i] then n_ready = n_ready + 1 end
  end
  if not found and not (vanished and #ids > begins) then return nil end
  local kept, later, stays = { chosen }, {}, {}
  for i = 1, #ids do
    if i ~= chosen and not suspect[i] and not chosen and (from[i] or not barrier or i < barrier) then kept[#kept + 1] = i end
  end
  local waits = found and (one and begins == 0 and 3 or 2) or 0
  if vanished and not chosen and #kept > begins then
    for _, i in ipairs(kept) do stays[i] = true end
    kept, waits = begin_first(kept, from, begins, due_first), found and 3 or 1
    for _, i in ipairs(kept) do stays[i] = nil end
  end
  local behind = false -- a job of ready stays
  for i = 1, #ids do
    if not from[i] and stays[i] then behind = true end
    if suspect[i] and i ~= chosen and ((from[i] == 'd' or from[i] == 'g') and (not one or chosen) or not from[i] and not one and not behind) then later[#later + 1] = i end
  end
  return kept, later, waits
end
