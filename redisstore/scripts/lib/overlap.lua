-- overlap: what becomes of an occurrence that work.lua meets among its candidates.
-- needs: clock counters definition open flight call
local RETRY_BEHIND_MS = 3000 -- when an occurrence that came back and finds another one in flight tries again

-- decide says what becomes of the i-th candidate, an occurrence of the schedule name:
--   take       it is taken
--   drop       it is forgotten, and nothing is counted: its schedule was removed
--   skip       it is new and another one is in flight: it is counted and forgotten
--   park       the same, but it is put behind the one in flight
--   behind     it came back and another one is in flight: it tries again soon
--   supersede  it came back and a later one is in flight: it is counted and forgotten
-- Then: whether it is new, whether the next one is owed, its overlap policy, the ID of the occurrence whose retries it ends.
local function decide(call, i, name, planned)
  local id, body, flights = call.ids[i], call.bodies[i], call.flights
  local state, created, overlap = policy(flights.definitions[name])
  if not body and (not flights.definitions[name] or created and created > planned) then return 'drop' end
  local new = not (body or call.crashes and call.crashes[i] or call.from[i] ~= 'd')
  local owing = state == 'live' and at_cursor(call, name, planned)
  local entry = flights.opens[name]
  if not entry or not overlap or overlap == 'allow' then return 'take', new, owing, overlap end
  local open_id, open_fence, _, parked = opened(entry)
  if open_id == id then return 'take', new, owing, overlap end
  local _, open_planned = occurrence(open_id)
  if open_fence == '0' then
    local ends = overlap ~= 'wait' and open_planned < planned and call.waiting[open_id] and open_id
    return 'take', new, owing, overlap, ends
  end
  if new then return overlap ~= 'skip' and parked == '' and 'park' or 'skip', true, owing, overlap end
  if open_planned > planned and overlap ~= 'wait' then return 'supersede', false, owing, overlap end
  return 'behind', false, owing, overlap
end

-- meet carries out what becomes of the i-th candidate. Returns its data for the answer, as the n-th, if it is taken, under fence by worker.
local function meet(call, i, n, fence, worker)
  local id, name, planned = call.ids[i], call.schedule[i], call.planned[i]
  if not name then
    call.kinds[n] = 'j'
    return call.bodies[i] or ''
  end
  if call.superseded[id] then return nil end -- by one that this call took before it
  local decision, new, owing, overlap, ends = decide(call, i, name, planned)
  local data
  if decision == 'take' then
    data = describe(call, i, n, new)
    if ends then
      call.superseded[ends] = true
      call.undue[#call.undue + 1] = ends
      call.forgotten[#call.forgotten + 1] = ends
      count(call, name .. SUPERSEDED, 1)
      local _, ended = occurrence(ends)
      record(call, name, ended, 'superseded|' .. call.now .. '|' .. call.now)
    end
    if overlap and overlap ~= 'allow' then
      set_open(call.flights, name, id .. '|' .. fence .. '|' .. worker .. '|') -- nothing is parked behind one that is not in flight
    end
    if new then count(call, name .. STARTED, 1) end
  elseif decision == 'park' then
    local open_id, open_fence, open_worker = opened(call.flights.opens[name])
    set_open(call.flights, name, open_id .. '|' .. open_fence .. '|' .. open_worker .. '|' .. id)
    if overlap == 'cancel' then add_pair(call.replaced, open_worker, open_id) end
  elseif decision == 'behind' then
    add_due(call, call.behind, id, now_ms + RETRY_BEHIND_MS)
    if not call.bodies[i] then call.came_back[#call.came_back + 1] = id end
  else
    call.forgotten[#call.forgotten + 1] = id
    if decision == 'drop' then
      end_flight(call.flights, call.front, name, id, true)
      return nil
    end
    count(call, name .. (decision == 'skip' and SKIPPED or SUPERSEDED), 1)
    record(call, name, planned, (decision == 'skip' and 'skipped|' or 'superseded|') .. call.now .. '|' .. call.now)
  end
  if owing then owe(call, name) end
  if decision == 'skip' then give_run_back(call, name) end
  return data
end
