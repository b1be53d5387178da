-- settle: the settlements of work.lua, except those of finished jobs.
-- Model: HOLDS in models/session.pml.
-- needs: strings limits clock counters definition flight asked history call follower

-- keep_result stores the result of a job that ends; kind: the outcome, s for superseded. The result's first letter becomes the outcome's, even
-- if the worker sent another one: a job may have been cancelled since.
local function keep_result(call, id, kind, annex)
  if not find('dxcse', kind, 1, true) then return end
  local results, n = call.results, #call.results
  results[n + 1], results[n + 2], results[n + 3], results[n + 4] = id, annex.queue, kind == 'x' and 0 or annex.keep_ms, kind .. annex.record
end

-- follow adds the job that follows the end of this one, if there is one, and records its ID in the annexes, unless it has
-- another queue. how: done or dead; schedule: that of the
-- job; nil: it is no occurrence.
local function follow(call, id, annex, how, schedule)
  if not annex or not annex.o then return end
  local manual = call.past.manual and call.past.manual[id]
  local follower, in_ms = follower_id(id, how, annex.fence, schedule or manual and manual.name), annex.in_ms or 0
  if annex.q then
    local sent = call.sent
    sent[#sent + 1] = { id = follower, queue = annex.q, in_ms = in_ms, group = annex.group, batch = annex.m, body = annex.o }
    return
  end
  annex.follower = follower
  add_pair(call.envelopes, annex.follower, annex.o)
  if #annex.o > LARGE_BYTES then call.large = true end
  if in_ms > 0 then add_due(call, call.due, annex.follower, math.ceil((now_us + in_ms * 1000) / 1000)) end
  if annex.group then
    call.entering[#call.entering + 1] = { id = annex.follower, group = annex.group, now = in_ms == 0, front = true }
  elseif in_ms == 0 then
    call.front[#call.front + 1] = annex.follower
  end
end

-- settle adds the changes of a settlement to the table call. id: the job; name, planned: its schedule and planned instant if it is an
-- occurrence; kind, amount, body, run: the four values of the settlement, see the title page of work.lua; annex: its annexes, see the
-- piece annex; nil: it has none.
local function settle(call, id, name, planned, kind, amount, body, run, annex)
  call.removed[#call.removed + 1] = id
  if annex and annex.g then call.reported[#call.reported + 1] = id end
  if kind == 'm' and keeps_runs(call, name) then kind, body, run = 'b', '', '' end -- it runs after all
  if kind == 'w' and not withdraw(call, name, planned, amount) then kind, body, run = 'b', '', '' end -- likewise
  local final = kind == 'd' or kind == 'x' or kind == 'm' or kind == 'w' or kind == 'c' or kind == 'e'
  local fate = name and end_flight(call.flights, call.front, name, id, final and 'final' or kind == 'b' and 'front' or 'later')
  if kind == 'f' or kind == 'x' then count(call, FAILED, 1) end
  if annex and annex.r then keep_result(call, id, fate == 'superseded' and 's' or kind, annex) end
  if fate == 'superseded' then
    supersede(call, name, planned, id, run)
    return
  end
  if kind == 'c' then
    cancel(call, name, planned, id, run)
    return
  end
  local own = name and (kind == 'd' or kind == 'x' or kind == 'm' or kind == 'w') and add_unfinished(call.past, name, planned, -1) or
    kind == 'f' and name and add_unfinished(call.past, name, planned, 0)
  if own and kind == 'd' then
    count(call, name .. DONE, 1)
    if own.streak ~= '' then own.streak = match(own.streak, '^ %d+:') .. ':' end
  end
  if own and (kind == 'f' or kind == 'x') then count(call, name .. FAILED, 1) end
  if own and kind == 'x' then
    count(call, name .. DIED, 1)
    if own.streak ~= '' then call.add_death(call, own, name, planned) end
  end
  if kind == 'd' then
    call.done = call.done + 1
    call.forgotten[#call.forgotten + 1] = id
    follow(call, id, annex, 'done', name)
  elseif kind == 'e' then
    call.forgotten[#call.forgotten + 1] = id
    count(call, EXPIRED, 1)
    follow(call, id, annex, 'dead')
  elseif kind == 'w' then
    call.forgotten[#call.forgotten + 1] = id
    count(call, name .. STARTED, -1) -- it has not begun
  elseif kind == 'm' then
    call.forgotten[#call.forgotten + 1] = id
    local _, created = policy(call.flights.definitions[name])
    if created and not created_later(created, planned) then -- else its schedule was removed; another schedule of that name is not changed
      count(call, name .. MISSED, 1)
      count(call, MISSED, 1)
      count(call, name .. STARTED, -1) -- it has not begun
      give_run_back(call, name)
    end
  else
    if body ~= '' then add_pair(call.envelopes, id, body) end
    if #body > LARGE_BYTES then call.large = true end
    if kind == 'f' or kind == 'l' then
      if kind == 'f' then count(call, RETRIED, 1) end
      if name and body == '' then call.came_back[#call.came_back + 1] = id end
      local at_ms = math.ceil((now_us + (tonumber(amount) or 0) * 1000) / 1000)
      add_due(call, call.due, id, at_ms)
      if name then call.waiting[id] = at_ms end
    elseif kind == 'x' then
      count(call, DIED, 1)
      add_pair(call.dead, call.now, id)
      call.uncrashed[#call.uncrashed + 1] = id
      follow(call, id, annex, 'dead', name)
    elseif kind == 'p' then
      local position, since = match(amount, '^(%d+) ?(%d*)$')
      position = tonumber(position)
      call.parked[position] = call.parked[position] or {}
      if name and body == '' and call.grouped[id] then call.came_back[#call.came_back + 1] = id end -- it will be in line, as new ones are
      add_pair(call.parked[position], since ~= '' and since or call.now, id) -- its age counts from when it was first parked
    elseif fate == 'behind' then
      call.behind[#call.behind + 1] = id
      if body == '' then call.came_back[#call.came_back + 1] = id end
    else
      if name and body == '' and call.grouped[id] then call.came_back[#call.came_back + 1] = id end -- likewise
      call.front[#call.front + 1] = id
    end
  end
  if name and run ~= '' then record(call, name, planned, run) end
end

-- settle_cancelled settles the jobs that were cancelled while they were held: cancels has three values for each, ID, record, and the index in
-- annexes.
local function settle_cancelled(call, cancels, annexes, state, asked)
  for i = 1, #cancels, 3 do
    local name, planned = occurrence(cancels[i])
    settle(call, cancels[i], name, planned, 'c', '', '', cancels[i + 1], annexes[cancels[i + 2]])
  end
  add_asked(state, asked, -#cancels / 3)
end
