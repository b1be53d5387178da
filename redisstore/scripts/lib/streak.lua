-- streak: the consecutive occurrences of a schedule that ended dead, and the pause that follows them under the option PauseAfter.
-- needs: strings clock instant seconds definition history call withdraw note

-- The entry of such a schedule in …:last ends with " <n>:<revision>:<planned>,<planned>,…": the number of deaths at which it is paused; the
-- revision of its definition for which they were counted; the planned instants of the dead ones, Unix s. A change, a pause and a resume draw a
-- revision, which is about their instant in µs. A count for another revision than the stored one is over. Occurrences that were planned before
-- that revision was drawn do not count; the run at creation does. If the revision is later than the clock, because the clock was ahead, all
-- occurrences count. A success resets the count, at whatever instant it was planned. An occurrence that dies again, after it was requeued, counts
-- once. Nothing counts unless the schedule is live here.
--
--   counting ──the n-th dies──► paused, with a note ──a resume draws a revision──► counting, from none

-- read_streaks reads what a pause of the schedules names would withdraw: call.ahead[name] is the ID of the occurrence at the cursor, if it
-- was not taken and is due in the future. due, jobs, crashes: the keys.
local function read_streaks(call, names, due, jobs, crashes)
  for _, name in ipairs(names) do
    local at, _, kind = cursor(call.flights.cursors[name])
    local waiting, ahead = untaken(due, jobs, crashes, name, at, kind)
    call.ahead[name] = ahead and waiting
  end
end

-- pause stops the live schedule name, whose head is h, as pause_schedule.lua does.
local function pause(call, name, h)
  local flights = call.flights
  h.state, h.revision = 'paused', whole(math.max(call.draw, tonumber(h.revision) + 1))
  call.drawn = math.max(call.drawn or 0, tonumber(h.revision))
  flights.definitions[name], call.definitions_changed[name] = definition(h), true
  if call.ahead[name] then
    local at, used = cursor(flights.cursors[name])
    call.undue[#call.undue + 1] = call.ahead[name]
    flights.cursors[name], call.cursors_changed[name] = withdrawn(at, math.max(used - 1, 0), h.created), true
  end
end

-- add_death counts the death of the occurrence of the schedule name planned for this instant; known: the schedule's entry in the
-- piece history.
local function add_death(call, known, name, planned)
  local n, revision, dead = match(known.streak, '^ (%d+):(%d*):([%d,]*)$')
  local h = n and head(call.flights.definitions[name] or '')
  if not h or h.state ~= 'live' then return end
  local planned_s, revision_us = seconds(planned), tonumber(h.revision)
  if revision_us <= now_us and planned_s * 1000000 <= revision_us and not (is_first(planned, h.created) and math.floor(revision_us / 1000000) <= planned_s) then return end
  if revision ~= h.revision then dead = '' end
  if find(',' .. dead, ',' .. whole(planned_s) .. ',', 1, true) then return end
  dead = dead .. whole(planned_s) .. ','
  known.streak = ' ' .. n .. ':' .. h.revision .. ':' .. dead
  local _, count = string.gsub(dead, ',', ',')
  if count >= tonumber(n) then
    pause(call, name, h)
    add_pair(call.paused, name, whole(count))
  end
end

-- save_streaks writes the changes of pauses that other functions do not write. owed, notes: the keys.
local function save_streaks(call, owed, notes)
  for i = 1, #call.paused, 2 do
    local runs = call.paused[i + 1] == '1' and '1 occurrence' or call.paused[i + 1] .. ' occurrences in a row'
    redis.call('ZREM', owed, call.paused[i])
    redis.call('HSET', notes, call.paused[i], noted('{"text":"' .. runs .. ' ended dead","by":"chime"}'))
  end
end
