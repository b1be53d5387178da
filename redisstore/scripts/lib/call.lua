-- call: the data that a call of work.lua reads and collects on its long path, in a table that its functions receive. settle and meet
-- change only this table; save_settlements and save_changes write the collected changes, with one command for each key.
-- needs: strings clock counters definition rule owed open flight asked history

-- new_call returns the table. ids, from, bodies, crashes: the candidates, the place of each, its envelope, how often its holder
-- vanished (nil: no job of the partition crashed). schedule, planned: schedule and planned instant of each that is an occurrence.
-- flights: see the piece flight. owes[name]: the score of the schedule in owed. vanished[name]: the occurrence that holds the schedule,
-- if the session that held it is gone. now: the time as text, Unix ms. past: see the piece history.
local function new_call(ids, from, bodies, crashes, schedule, planned, flights, owes, vanished, now, past)
  return {
    now = now,
    ids = ids, from = from, bodies = bodies, crashes = crashes, schedule = schedule, planned = planned, flights = flights,
    owes = owes, vanished = vanished, past = past,
    zones = {}, -- schedule -> its entry in zones
    waiting = {}, -- occurrence that came back and waits in due -> when it is due, Unix ms; false: it is not in due

    -- what the settlements change
    done = 0, -- how many succeeded
    removed = {}, -- IDs to remove from inflight
    envelopes = {}, -- ID and new envelope
    large = false, -- one of these is longer than LARGE_BYTES
    due = {}, -- instant and ID of what goes to due
    dead = {}, -- instant and ID of dead jobs
    uncrashed = {}, -- IDs of these: their crashes no longer count
    parked = {}, -- position of a name to park on -> instant and ID of what is parked on it
    results = {}, reported = {}, -- the results of annexes: see the piece annex

    -- what the takes change
    kinds = {}, -- a letter each, for the answer
    data = nil, -- of a repeated call: its first answer
    undue = {}, -- IDs of occurrences whose retries end, to remove from due
    replaced = {}, -- worker and occurrence: the worker must end it, because a newer one waits behind it

    -- what both change
    soonest = nil, -- earliest instant that this call adds to due, Unix ms
    came_back = {}, -- IDs of occurrences without an envelope that are not new any more
    grouped = {}, -- ID -> true: settled jobs that belong to groups
    give_way = nil, -- if jobs belong to groups: the function of the piece joins
    behind = {}, -- IDs of occurrences that went behind another one
    superseded = {}, -- occurrence that a newer one has ended -> true
    skipped = nil, -- occurrences that were dropped, because another one runs or waits
    forgotten = {}, -- IDs to remove from jobs and crashes
    front = {}, -- IDs that go to the front of ready, the foremost first
    revoked = {}, -- ID and batch of members of cancelled batches that were candidates
    sent = {}, -- jobs that follow others in other queues, see follow of the piece settle
    entering = {}, -- jobs of groups that follow others, see follow of the piece settle
    counts = {}, -- field of …:counters -> how much to add
    runs = {}, -- for the record, three values each: schedule, planned instant, "<outcome>|<started>|<ended>…"
    owing = {}, -- instant and name of schedules that go to owed
    owed = {}, -- for the answer: schedules whose next occurrence is to be placed
    cursors_changed = {}, definitions_changed = {}, -- names whose cursor or definition in flights is to be written; a cursor '' is removed

    -- see the piece streak
    ahead = {}, -- schedule -> the occurrence that a pause withdraws
    paused = {}, -- schedules that this call pauses, two values each: name, number of consecutive deaths
    draw = 0, -- the least revision that a pause may draw
    drawn = nil, -- the greatest one that was drawn
  }
end

-- add_pair adds two values to a list.
local function add_pair(list, one, other)
  local n = #list
  list[n + 1], list[n + 2] = one, other
end

-- add_due adds a job to list, one of those of the table call whose jobs go to due at an instant, Unix ms.
local function add_due(call, list, id, at_ms)
  add_pair(list, whole(at_ms), id)
  if not call.soonest or at_ms < call.soonest then call.soonest = at_ms end
end

-- count adds n to a counter.
local function count(call, field, n)
  call.counts[field] = (call.counts[field] or 0) + n
end

-- record adds one line to the record of runs.
local function record(call, name, planned, run)
  local runs = call.runs
  local n = #runs
  runs[n + 1], runs[n + 2], runs[n + 3] = name, planned, run
  add_run(call.past, name, planned, run)
end

-- at_cursor reports whether this occurrence of the schedule name is the one at its cursor.
local function at_cursor(call, name, planned)
  local text = call.flights.cursors[name]
  return text and is_placed(sub(text, -1)) and find(text, planned, 1, true) == 1 and byte(text, #planned + 1) == 32 -- "<planned> … p"
end

-- overtakes reports whether a new occurrence of the schedule name is later than a cursor that belongs to no occurrence, and then moves the
-- cursor to it. This happens after the cursor was lost: repair_orphans.lua has set it without reading due, and the occurrence must not be placed again.
local function overtakes(call, name, planned)
  local flights = call.flights
  local at, used, kind = cursor(flights.cursors[name])
  if kind ~= 's' or planned <= at then return false end
  flights.cursors[name] = planned .. ' ' .. whole(used + 1) .. ' p'
  call.cursors_changed[name] = true
  return true
end

-- owed_list returns the schedules whose next occurrence is owed, for the answer, four values each: name, definition, cursor, entry
-- in zones.
local function owed_list(call)
  local list, flights = {}, call.flights
  for i, name in ipairs(call.owed) do
    local n = 4 * i - 3
    list[n], list[n + 1], list[n + 2], list[n + 3] = name, flights.definitions[name] or '', flights.cursors[name] or '', call.zones[name] or ''
  end
  return list
end

-- owe records that the next occurrence of a schedule is to be placed; nothing if that is recorded already.
local function owe(call, name)
  if call.owes[name] then return end
  call.owes[name] = true
  add_pair(call.owing, call.now, name)
  call.owed[#call.owed + 1] = name
end

-- withdraw returns a taken occurrence that did not begin to its schedule: the cursor goes back to the instant at, before it, its run is not used up,
-- and the schedule is owed. So the rule is computed again from there, by any process. It does nothing and returns false unless the schedule is
-- live and the occurrence at its cursor is this one: else the next one was placed since.
local function withdraw(call, name, planned, at)
  local flights = call.flights
  local _, used, kind = cursor(flights.cursors[name])
  if kind ~= 'p' or not at_cursor(call, name, planned) or policy(flights.definitions[name]) ~= 'live' then return false end
  flights.cursors[name] = at .. ' ' .. whole(math.max(used - 1, 0)) .. ' s'
  call.cursors_changed[name] = true
  if call.owes[name] then call.owed[#call.owed + 1] = name else owe(call, name) end
  return true
end

-- keeps_runs reports whether the schedule has a count and has moved to another queue. Then its occurrences here are not dropped: no script
-- could give their runs back.
local function keeps_runs(call, name)
  local text = call.flights.definitions[name]
  local state = policy(text)
  return state and is_mark(state) and find(rule(text) or '', '"count":', 1, true)
end

-- give_run_back gives a run back to the schedule's count; a schedule that had completed is live again.
local function give_run_back(call, name)
  local flights = call.flights
  local at, used, kind = cursor(flights.cursors[name])
  if at and used > 0 then
    flights.cursors[name] = at .. ' ' .. whole(used - 1) .. ' ' .. kind
    call.cursors_changed[name] = true
  end
  if policy(flights.definitions[name]) == 'completed' then
    local h = head(flights.definitions[name])
    h.state = 'live'
    flights.definitions[name] = definition(h)
    call.definitions_changed[name] = true
    owe(call, name)
  end
end

-- describe returns the data of the i-th candidate for the answer, an envelope or a definition, and stores its kind as the
-- n-th of the answer; new: the occurrence is taken for the first time.
local function describe(call, i, n, new)
  local text, name = call.bodies[i], call.schedule[i]
  local stored = name and call.flights.definitions[name]
  if stored and not text then
    call.kinds[n] = new and 'n' or 'd'
    return stored
  end
  call.kinds[n] = name and 'e' or 'j'
  return text or ''
end

-- supersede ends an occurrence that came back, because a newer one replaces it. run: the record of its attempt, or empty.
local function supersede(call, name, planned, id, run)
  call.superseded[id] = true
  local own = add_unfinished(call.past, name, planned, -1)
  call.forgotten[#call.forgotten + 1] = id
  local _, created = policy(call.flights.definitions[name])
  if own or created and not created_later(created, planned) then count(call, name .. SUPERSEDED, 1) end -- else its schedule was removed
  record(call, name, planned, 'superseded|' .. (match(run, '|(.*)$') or call.now .. '|' .. call.now))
end

-- cancel ends a job that was cancelled: it counts it and records an occurrence. run: the record of its attempt, or empty.
local function cancel(call, name, planned, id, run)
  call.forgotten[#call.forgotten + 1] = id
  count(call, CANCELLED, 1)
  if not name then return end
  local own = add_unfinished(call.past, name, planned, -1)
  local _, created = policy(call.flights.definitions[name])
  if own or created and not created_later(created, planned) then count(call, name .. CANCELLED, 1) end -- else its schedule was removed
  record(call, name, planned, 'cancelled|' .. (match(run, '|(.*)$') or call.now .. '|' .. call.now))
end

-- revoke ends a candidate that is a member of a cancelled batch.
local function revoke(call, id, batch)
  cancel(call, nil, nil, id, '')
  add_pair(call.revoked, id, batch)
end

-- read_waiting reads which returned occurrences under policy cancel, each the last one of a candidate's schedule, wait in due.
local function read_waiting(call, due)
  local waiting, ids = call.waiting, {}
  for i, name in pairs(call.schedule) do
    local id, fence = opened(call.flights.opens[name])
    if fence == '-' and id ~= call.ids[i] and waiting[id] == nil then
      waiting[id] = false
      ids[#ids + 1] = id
    end
  end
  if #ids == 0 then return end
  for i, due_ms in ipairs(redis.call('ZMSCORE', due, unpack(ids))) do waiting[ids[i]] = due_ms end
end

-- answer_again prepares the answer to a repeated call, whose candidates are the jobs that it took; kinds are their letters in the
-- first answer. It returns the schedules whose occurrence it took and whose next one has not been placed since.
local function answer_again(call, kinds)
  call.data = {}
  for i = 1, #call.ids do
    local name = call.schedule[i]
    if name and call.owes[name] and at_cursor(call, name, call.planned[i]) then call.owed[#call.owed + 1] = name end
    call.data[i] = describe(call, i, i, byte(kinds, i) == 110) -- n
  end
end

-- save_settlements writes the changes that only settlements make; crashed: whether …:crashes holds anything. Its first write needs no
-- memory, which makes the other writes possible when the server is out of memory.
local function save_settlements(call, inflight, jobs, due, dead, crashes, crashed)
  if #call.removed > 0 then redis.call('HDEL', inflight, unpack(call.removed)) end
  if #call.envelopes > 0 then redis.call('HSET', jobs, unpack(call.envelopes)) end
  if #call.due > 0 then redis.call('ZADD', due, unpack(call.due)) end
  if #call.dead > 0 then redis.call('ZADD', dead, unpack(call.dead)) end
  if crashed and #call.uncrashed > 0 then redis.call('HDEL', crashes, unpack(call.uncrashed)) end
end

-- save_changes writes the changes of schedules by settlements and takes, with the counters and the record of runs. The takes come
-- after the settlements: an occurrence that a settlement put into due may be taken out of it here.
local function save_changes(call, due, crashes, schedules, cursors, owed, open, behind, counters, runs, last, history)
  local flights, list = call.flights, {}
  if #call.undue > 0 then redis.call('ZREM', due, unpack(call.undue)) end
  for _, id in ipairs(call.came_back) do redis.call('HSETNX', crashes, id, 0) end
  for name in pairs(flights.freed) do
    local since = call.owes[name] ~= true and tonumber(call.owes[name] or 0) >= HELD and owed_since(call.owes[name])
    if since then -- it catches up: the next run is placed now that this flight has ended
      add_pair(call.owing, whole(since), name)
      call.owed[#call.owed + 1] = name
    end
  end
  if #call.owing > 0 then redis.call('ZADD', owed, unpack(call.owing)) end
  save_flights(flights, open, behind)
  for name in pairs(call.cursors_changed) do
    if flights.cursors[name] == '' then redis.call('HDEL', cursors, name) else add_pair(list, name, flights.cursors[name]) end
  end
  if #list > 0 then redis.call('HSET', cursors, unpack(list)) end
  list = {}
  for name in pairs(call.definitions_changed) do add_pair(list, name, flights.definitions[name]) end
  if #list > 0 then redis.call('HSET', schedules, unpack(list)) end

  local fields = {}
  for field in pairs(call.counts) do fields[#fields + 1] = field end
  if #fields > 4 then -- two commands instead of one a field
    -- read after write: the counts are known only now
    local sums = redis.call('HMGET', counters, unpack(fields))
    list = {}
    for i, field in ipairs(fields) do add_pair(list, field, whole((sums[i] or 0) + call.counts[field])) end
    redis.call('HSET', counters, unpack(list))
  else
    for field, n in pairs(call.counts) do redis.call('HINCRBY', counters, field, whole(n)) end
  end

  for i = 1, #call.runs, 3 do
    local run = call.runs[i + 2]
    local first = find(run, '|', 1, true)
    local second = find(run, '|', first + 1, true)
    redis.call('XADD', runs, 'MAXLEN', '~', '10000', '*', 'schedule', call.runs[i], 'planned', call.runs[i + 1],
      'started', sub(run, first + 1, second - 1), 'ended', match(run, '^[^|]+', second + 1), 'outcome', sub(run, 1, first - 1))
  end
  save_past(call.past, last, history)
end
