-- overlap: decides about an occurrence that is among the candidates of work.lua.
-- needs: strings clock counters definition open flight history call void unfinished

-- decide returns what happens to the i-th candidate, an occurrence of the schedule name:
--   take       it is taken
--   drop       it is forgotten, and nothing is counted: its schedule was removed
--   full       it is new, and its schedule has its maximum of unfinished runs: it is counted and forgotten, unless its run cannot be given back
--   skip       it is new and another one holds the schedule: it is counted and forgotten, unless it is caught up or its run cannot be given back
--   behind     another one holds the schedule: it waits behind that one
--   supersede  it came back, and under policy cancel a later one was taken: it is counted and forgotten
--   void       it was cancelled before its instant, and remained in due until then so that the next one is owed now
-- It also returns whether it is new, whether the next one is owed, its overlap policy, the ID of the occurrence whose retries it ends.
local function decide(call, i, name, planned)
  local id, body, flights = call.ids[i], call.bodies[i], call.flights
  local state, created, overlap = policy(flights.definitions[name])
  if body and is_mark_of_void(body) then
    return 'void', false, state == 'live' and at_cursor(call, name, planned)
  end
  if not body and is_dropped(flights.definitions[name], created, planned) then return 'drop' end
  if call.vanished[name] then
    end_flight(flights, call.front, name, call.vanished[name], 'final') -- its session is gone, and nothing else will end its flight
    call.vanished[name] = nil
  end
  local open_id, fence, _, _, letter, fresh = opened(flights.opens[name])
  -- one in line that is not new has an entry in crashes, and so has a new one of a group that has waited behind another one
  local first = (call.from[i] == 'd' or call.from[i] == 'g') and not (call.crashes and call.crashes[i])
  local new = not body and (first or open_id == id and fresh == planned)
  -- a definition that cannot be read is owed too: a ticker reports it, and once it is repaired the schedule continues
  local owing = (state == 'live' or not state and flights.definitions[name]) and
    (at_cursor(call, name, planned) or new and overtakes(call, name, planned))
  local counted = new and add_unfinished(call.past, name, planned, 0)
  if counted and counted.unfinished > 0 then
    local most = max_unfinished(flights.definitions[name])
    if most > 0 and counted.unfinished >= most and not keeps_runs(call, name) then return 'full', true, owing, overlap end
  end
  if not open_id or not overlap or overlap == 'allow' or open_id == id then return 'take', new, owing, overlap end
  local _, open_planned = occurrence(open_id)
  if fence == '-' then
    if overlap == 'cancel' and open_planned > planned then return 'supersede', false, owing, overlap end
    return 'take', new, owing, overlap, overlap == 'cancel' and call.waiting[open_id] and open_id
  end
  if new then
    local caught_up = sub(flights.cursors[name] or '', -1) == 'c' and at_cursor(call, name, planned)
    local skips = (overlap == 'skip' and not caught_up and not yields(letter) or fresh ~= '') and not keeps_runs(call, name)
    return skips and 'skip' or 'behind', true, owing, overlap
  end
  if overlap == 'cancel' and open_planned and open_planned > planned and not yields(letter) then return 'supersede', false, owing, overlap end
  return 'behind', false, owing, overlap
end

-- meet executes the decision for the i-th candidate. If it is taken, under fence by worker in session, meet returns its data for the answer, as
-- the n-th.
local function meet(call, i, n, fence, worker, session)
  local id, name, planned = call.ids[i], call.schedule[i], call.planned[i]
  if not name then
    call.kinds[n] = 'j'
    return call.bodies[i] or ''
  end
  if call.superseded[id] then return nil end -- by one that this call took before it
  local decision, new, owing, overlap, ends = decide(call, i, name, planned)
  local open_id, open_fence, open_worker, open_session, letter, fresh = opened(call.flights.opens[name])
  local data
  local swaps = decision == 'behind' and not new and open_fence == '0' and call.from[i] == 'g' and call.give_way and call.give_way(id, open_id)
  if swaps then -- the other one waits behind this one again
    local _, other = occurrence(open_id)
    wait_behind(call.flights, name, (yields(letter) and '~' or '') .. other) -- ~: see lib/flight.lua
    decision = 'take'
  end
  if decision == 'take' then
    data = describe(call, i, n, new)
    if ends then
      call.undue[#call.undue + 1] = ends
      local _, ended = occurrence(ends)
      supersede(call, name, ended, ends, '')
    end
    if overlap and overlap ~= 'allow' then
      if not swaps and not (open_id == id and fresh ~= planned) then fresh = '' end
      local first = sub(overlap, 1, 1)
      if open_id == id and yields(letter) then first = string.upper(first) end
      set_open(call.flights, name, opening(id, fence, worker, session, first, fresh))
    end
    if new then
      count(call, name .. STARTED, 1)
      add_unfinished(call.past, name, planned, 1)
    end
  elseif decision == 'behind' then
    wait_behind(call.flights, name, planned)
    call.behind[#call.behind + 1] = id
    if new and call.from[i] == 'g' then call.came_back[#call.came_back + 1] = id end -- else it would look as if it had not been taken
    if new then
      set_open(call.flights, name, opening(open_id, open_fence, open_worker, open_session, letter, planned))
      if overlap == 'cancel' and open_fence ~= '0' and not yields(letter) then add_pair(call.replaced, open_worker, open_id) end
    elseif not call.bodies[i] then
      call.came_back[#call.came_back + 1] = id
    end
  elseif decision == 'supersede' then
    supersede(call, name, planned, id, '')
  else
    call.forgotten[#call.forgotten + 1] = id
    if decision == 'drop' or decision == 'full' then end_flight(call.flights, call.front, name, id, 'final') end
    if decision == 'drop' then return nil end
    if decision == 'void' then
      if owing then owe(call, name) end
      return nil
    end
    call.skipped = call.skipped or {}
    call.skipped[#call.skipped + 1] = id
    count(call, name .. SKIPPED, 1)
    count(call, SKIPPED, 1)
    local why = ''
    if decision == 'full' then
      count(call, name .. FULL, 1)
      why = '|0|' .. call.now .. '000||' .. too_many(max_unfinished(call.flights.definitions[name])) .. '\t'
    end
    record(call, name, planned, 'skipped|' .. call.now .. '|' .. call.now .. why)
  end
  if owing then owe(call, name) end
  if decision == 'skip' or decision == 'full' then give_run_back(call, name) end
  return data
end
