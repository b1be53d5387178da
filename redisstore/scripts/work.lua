-- work.lua: settle jobs that ended, then take what is due. The one call of a busy worker to a partition.
-- KEYS[1]  …:inflight:<session>  hash    job ID -> fence, "-" before it while not begun; # -> see below
-- KEYS[2]  …:sessions            zset    session -> instant it lapses, Unix ms
-- KEYS[3]  …:state               hash    fence, paused, parked, layout, large, ttl, done, crashed, turn
-- KEYS[4]  …:jobs                hash    job ID -> envelope
-- KEYS[5]  …:due                 zset    job ID -> instant it is due, Unix ms
-- KEYS[6]  …:ready               list    IDs of jobs to run now
-- KEYS[7]  …:crashes             hash    job ID -> times its holder vanished
-- KEYS[8]  …:idle                zset    sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[9]  …:counters            hash
-- KEYS[10] …:schedules           hash    schedule -> definition
-- KEYS[11] …:cursors             hash    schedule -> "<planned instant> <runs used> <kind>"
-- KEYS[12] …:owed                zset    schedule -> instant since when its next occurrence is to be placed, Unix ms
-- KEYS[13] …:open                hash    schedule -> see lib/open.lua
-- KEYS[14] …:dead                zset    job ID -> instant it was given up, Unix ms
-- KEYS[15] …:runs                stream  what ran
-- KEYS[16] …:behind              zset    "<schedule>\t<planned instant>" -> 0: occurrences behind the one in open
-- KEYS[17...] …:parked:<name>    zset    job ID -> instant parked, Unix ms: first those to serve, then those to park on
-- ARGV[1]  session
-- ARGV[2]  number of this call; 1 creates the session if anything is taken
-- ARGV[3]  time to live of the session, ms
-- ARGV[4]  how many to take at most
-- ARGV[5]  how many of these, the last ones, are taken ahead: not begun
-- ARGV[6]  0: stay awake; 1: sleep if nothing is left to take and fewer jobs came than were asked for; 2: as 1, and answer which
--          sessions have lapsed; 3: sleep on, registered in idle as before: only for calls that take nothing and settle nothing but
--          finished jobs
-- ARGV[7]  worker
-- ARGV[8]  prefix of the wake-up channels
-- ARGV[9]  host, pid and padding, kept beside the number
-- ARGV[10] how many parked names to serve
-- ARGV[11] how many names to park on
-- ARGV[12] how many finished jobs: done, without an envelope or a record
-- ARGV[13] how many jobs that were taken ahead and have begun; none of them is settled in the same call
-- ARGV[14] how many other settlements
-- ARGV[15...] in this order: the names to serve; the names to park on; the IDs of the finished jobs, of the begun ones and of the
--          other settlements; the fences of all of these; then four values for each other settlement: kind (d done, f failed and
--          due again, l due later, x dead, b back, p parked, m missed), delay in ms (p: position of the name to park on), envelope
--          (empty: unchanged), record ("<outcome>|<started>|<ended>", Unix ms; empty: none)
-- The field # of inflight is "<number of the last call> <first fence it drew> <when the session was renewed, Unix s> <host> <pid>
-- <padding> <kinds that the call answered>".
-- Returns (an empty list is 0):
--   time (us)
--   positions of the settlements refused, the finished jobs first
--   of the jobs taken: fence of the first (that of each other is one more than the one before); how many are begun (the first of
--     them); the IDs (a list; if they have equal lengths: joined); the data of each (an envelope, or a definition; empty: gone); if
--     there are occurrences, a letter for each (j an ordinary job, e an occurrence with an envelope, d with a definition, n with a
--     definition and new); if jobs of the partition have crashed, the crashes of each
--   schedules whose next occurrence is owed, three values each: name, definition, cursor
--   more to take (1, 0); paused (1, 0); instant of the head of due (Unix ms, -1 nothing to wait for); place among the keepers of the
--     alarm (1, 2, 0); names with parked jobs
--   earliest lapse (Unix ms, -1); lapsed sessions, two values each: name, lapse
--   occurrences that newer ones have ended, under policy cancel
local INFLIGHT, SESSIONS, STATE, JOBS, DUE, READY, CRASHES, IDLE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local COUNTERS, SCHEDULES, CURSORS, OWED, OPEN, DEAD = KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13], KEYS[14]
local RUNS, BEHIND = KEYS[15], KEYS[16]
local PARKED = 16 -- the lists of parked jobs come after KEYS[16]
local ARGV = ARGV -- a local is found faster than a global
local session, number, ttl_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local want, sleep, sleeps_on, worker, wake = tonumber(ARGV[4]), ARGV[6] ~= '0', ARGV[6] == '3', ARGV[7], ARGV[8]
local ahead, serves, parks, begun, others = 0, 0, 0, 0, 0
if ARGV[5] ~= '0' then ahead = tonumber(ARGV[5]) end
if ARGV[10] ~= '0' then serves = tonumber(ARGV[10]) end
if ARGV[11] ~= '0' then parks = tonumber(ARGV[11]) end
local finished = tonumber(ARGV[12])
if ARGV[13] ~= '0' then begun = tonumber(ARGV[13]) end
if ARGV[14] ~= '0' then others = tonumber(ARGV[14]) end
local at_serve = 14
local at_park = at_serve + serves
local settled = finished + begun + others
local at_id = at_park + parks
local at_fence = at_id + settled
local at_other = at_fence + settled
local OCCURRENCES = 150 -- what one call settles and takes of occurrences: one costs as much as five ordinary jobs, skipped ten
-- uses: limits clock layout due
local now_us_text = time[1] .. string.sub('00000' .. time[2], -6)
local now_text = string.sub(now_us_text, 1, -4) -- now_ms

-- There are two ways through this script. Calls that finish, begin and take ordinary jobs go the ordinary way. Calls with other
-- settlements or with occurrences, and a call that is sent again, go the long way: what they need in addition is done by functions on
-- the table call (lib/call.lua, lib/settle.lua, lib/overlap.lua).
--
-- What this costs: a call of Redis 0.4 us, a closure 0.1 us, a number made of a text 0.1 us, a text made of a number 0.1 us by whole
-- and 0.4 us as an argument, a table that grows 0.1 us, a string 1.3 ns a byte (Redis hashes each whole), the length of a long list a
-- search. So the ordinary way makes nothing that it does not need, and the functions of the long way are created on the long way only.

--------------------------------------------------------------------------------------------- read and check: the session

local state = redis.call('HMGET', STATE, 'fence', 'paused', 'parked', 'layout', 'large', 'ttl', 'done', 'crashed', 'turn')
local refusal = newer(state[4])
if refusal then return refusal end
local paused, large = state[2], state[5]

local held = redis.call('HMGET', INFLIGHT, '#', unpack(ARGV, at_id + 1, at_id + settled))
local header = held[1]
local last, first_drawn, renewed
if header then last, first_drawn, renewed = string.match(header, '^(%d+) (%d+) (%d+)') end
last = last and tonumber(last)
-- A session that is being reaped does not begin again, not even if its first call comes late: the jobs left in it would never be reaped.
if not last and (header or number ~= 1 or settled > 0) then
  return redis.error_reply('CHIMELOST session ' .. session .. ' is gone')
end
if last and number ~= last and number ~= last + 1 then
  return redis.error_reply('CHIMELOST call ' .. ARGV[2] .. ' of session ' .. session .. ' comes after call ' .. last)
end
local again = last == number

------------------------------------------------------------------------------------------- read and check: the settlements

-- A settlement counts if the session holds the job with the fence that was named. The finished jobs for which it does are
-- ended[ended_from] to ended[ended_to].
local ended, ended_from, ended_to = ARGV, at_id + 1, at_id + finished
local flying, others_held, refused = {}, {}, {} -- flying: jobs in flight with their fences, as they are to be written
if again then
  ended_to = at_id
else
  for i = 1, finished do
    local fence, holds = ARGV[at_fence + i], held[i + 1]
    if holds ~= fence and holds ~= '-' .. fence then refused[#refused + 1] = i end
  end
  if #refused > 0 then
    local first, n, r = at_id, 0, 1
    ended, ended_from, ended_to = {}, 1, finished - #refused
    for i = 1, finished do
      if refused[r] == i then
        r = r + 1
      else
        n = n + 1
        ended[n] = ARGV[first + i]
      end
    end
  end
  for i = finished + 1, finished + begun do
    if held[i + 1] == '-' .. ARGV[at_fence + i] then
      flying[#flying + 1] = ARGV[at_id + i]
      flying[#flying + 1] = ARGV[at_fence + i]
    end
  end
  for i = 1, others do
    local fence, holds = ARGV[at_fence + finished + begun + i], held[finished + begun + i + 1]
    if holds == fence or holds == '-' .. fence then
      others_held[#others_held + 1] = i
    else
      refused[#refused + 1] = finished + i
    end
  end
end

------------------------------------------------------------------------------------------------- read: what could be taken

-- ids are the candidates in order, from[i] says where each comes from: nil ready, 'd' due, n the n-th list of parked ones.
local ids, from = {}, {}
local next_ms = -1 -- instant of the head of due
if not sleeps_on then next_ms = due_head(DUE) end
local turn -- which list has the odd place next time, if that changes: 1 due, 0 ready
local ready_left -- how many this call leaves in ready, as far as it has read; nil: not known
local begun_before -- of the same call again: how many of the jobs it took are begun
if again then
  -- uses: again
  ids, begun_before = taken_since(INFLIGHT, tonumber(first_drawn))
elseif want > 0 and not paused then
  local function add(list, first, last_one, source)
    local n = #ids
    for i = first, last_one do
      n = n + 1
      ids[n], from[n] = list[i], source
    end
  end
  for i = 1, serves do
    if #ids < want then
      local parked = redis.call('ZRANGE', KEYS[PARKED + i], 0, want - #ids - 1)
      add(parked, 1, #parked, i)
    end
  end
  local left = want - #ids
  if left > 0 then
    -- one more than is wanted, which shows whether this call leaves any
    local ready, due = redis.call('LRANGE', READY, '0', left == want and ARGV[4] or whole(left)), {}
    if next_ms >= 0 and next_ms <= now_ms then due = redis.call('ZRANGEBYSCORE', DUE, '-inf', now_text, 'LIMIT', '0', whole(left)) end
    -- half of each, the odd place in turn; what one leaves the other gets
    local odd = state[9] and 1 or 0
    local half = math.floor((left + odd) / 2)
    if #due > 0 and #ready > 0 and (large or left % 2 == 1) then turn = 1 - odd end
    local from_due = math.min(#due, math.max(half, left - math.min(#ready, left)))
    local from_ready = math.min(#ready, left - from_due)
    ready_left = #ready - from_ready
    if from_due == 0 and serves == 0 then
      ids = ready
      ids[want + 1] = nil
    elseif large then
      -- in turn, because the call may be full of bodies before it has all of them
      for i = 1, math.max(from_ready, from_due) do
        if odd == 1 then add(due, i, math.min(i, from_due), 'd') end
        add(ready, i, math.min(i, from_ready), nil)
        if odd == 0 then add(due, i, math.min(i, from_due), 'd') end
      end
    else
      add(ready, 1, from_ready, nil)
      add(due, 1, from_due, 'd')
    end
  end
end

if large and not again then
  -- uses: bytes
  if cut_bytes(ids, from, JOBS, SCHEDULES) then ready_left = nil end
end

local bodies, crashes, crashed = {}, nil, state[8] and redis.call('HLEN', CRASHES) > 0
local joined, occurrences -- the IDs, one after the other; whether an occurrence is among them
if #ids > 0 then
  bodies = redis.call('HMGET', JOBS, unpack(ids))
  if crashed then crashes = redis.call('HMGET', CRASHES, unpack(ids)) end
  joined = table.concat(ids)
  occurrences = string.find(joined, '@', 1, true)
end

----------------------------------------------------------------------------------------- read: the schedules (the long way)

local long = again or others > 0 or occurrences
local call -- what the long way knows and gathers, see lib/call.lua
local schedule_of, planned_of -- schedule and planned instant of each other settlement, if it is of an occurrence
local settle_one, write_settlements, meet_one, write_changes, write_front, owed_of -- its functions, which only the next block creates
if long then
  -- uses: strings counters definition owed open flight call settle overlap candidates
  settle_one, write_settlements, meet_one, write_changes, write_front = settle, save_settlements, meet, save_changes, push_front
  owed_of = owed_list

  -- names: the schedules that this call touches, each known once; needed: those whose definition and cursor it needs; met: those whose
  -- occurrences are candidates
  local names, known, needed, met = {}, {}, {}, {}
  schedule_of, planned_of = {}, {}
  for _, i in ipairs(others_held) do
    local name, planned = occurrence(ARGV[at_id + finished + begun + i])
    if name then
      schedule_of[i], planned_of[i] = name, planned
      if not known[name] then known[name], names[#names + 1] = true, name end
      local kind = ARGV[at_other + 4 * i - 3]
      if kind ~= 'd' and kind ~= 'x' then needed[name] = true end
    end
  end
  local kept = occurrences and not again and bounded(ids, from, math.max(OCCURRENCES - #names, 50), number % 2 == 1)
  if kept then
    ids, from, bodies, crashes = picked(ids, kept), picked(from, kept), picked(bodies, kept), crashes and picked(crashes, kept)
  end
  local schedule, planned = {}, {}
  for i = 1, occurrences and #ids or 0 do
    local name, instant = occurrence(ids[i])
    if name then
      schedule[i], planned[i] = name, instant
      if not known[name] then known[name], names[#names + 1] = true, name end
      if needed[name] ~= 'met' then needed[name], met[#met + 1] = 'met', name end
    end
  end
  local owes, vanished = {}, {}
  for i, score in ipairs(#names > 0 and redis.call('ZMSCORE', OWED, unpack(names)) or {}) do
    owes[names[i]] = score
    if score and tonumber(score) >= HELD then needed[names[i]] = true end
  end
  local flights = read_flights(OPEN, BEHIND, SCHEDULES, CURSORS, names, needed)
  read_vanished(vanished, flights, ids, schedule, SESSIONS)
  call = new_call(ids, from, bodies, crashes, schedule, planned, flights, owes, vanished, now_text)
  if again then
    answer_again(call, string.match(header, ' ([jedn]+)$') or '')
  else
    read_waiting(call, DUE)
  end
end

-------------------------------------------------------------------------------------------------- carry out the settlements

-- The first write takes no memory, whichever it is: that lets the rest go on when the server is out of memory.
local done = math.max(ended_to - ended_from + 1, 0)
if done > 0 then
  redis.call('HDEL', INFLIGHT, unpack(ended, ended_from, ended_to))
  redis.call('HDEL', JOBS, unpack(ended, ended_from, ended_to))
  if crashed then redis.call('HDEL', CRASHES, unpack(ended, ended_from, ended_to)) end
end
if #others_held > 0 then
  for _, i in ipairs(others_held) do
    local at = at_other + 4 * i - 3
    settle_one(call, ARGV[at_id + finished + begun + i], schedule_of[i], planned_of[i], ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
  end
  done = done + call.done
  write_settlements(call, INFLIGHT, JOBS, DUE, DEAD, CRASHES, crashed)
  if call.large and not large then redis.call('HSET', STATE, 'large', '1') end
  for position, list in pairs(call.parked) do redis.call('ZADD', KEYS[PARKED + serves + position], unpack(list)) end
end

-------------------------------------------------------------------------------------------------------- decide what is taken

-- taken and data, the IDs and data of the answer, are the candidates and their envelopes as long as each is taken as it is.
local n_ids, n_taken, taken, data = #ids, 0, ids, bodies
local taken_crashes, marks = {}, nil

local first_fence, first_text = now_us, now_us_text
if again then
  first_fence, first_text = tonumber(first_drawn), first_drawn
elseif state[1] and state[1] >= now_us_text then -- as texts, for both have 16 digits until the year 2286
  first_fence = tonumber(state[1]) + 1
  first_text = whole(first_fence)
end
local begins, last_text = want - ahead, nil
if again then
  n_taken, data = n_ids, call.data
  for i = 1, crashes and n_ids or 0 do taken_crashes[i] = crashes[i] or '0' end
elseif n_ids > 0 then
  -- Each job that is taken draws a fence, one more than the last. Nine times out of ten only the last digit of its text changes.
  local DIGITS = { [0] = '0', '1', '2', '3', '4', '5', '6', '7', '8', '9' }
  local stem, digit = string.sub(first_text, 1, -2), first_fence % 10
  local byte, at = string.byte, #flying
  for i = 1, n_ids do
    local id, text = ids[i], bodies[i] or ''
    local fence = stem .. DIGITS[digit]
    if byte(text, 1) == 0 then -- it was cancelled while in ready
      -- uses: mark
      marks = marks or { void = {}, stale = {}, restored = {} }
      text = unmark(marks, ids, from, i, text)
      bodies[i] = text or bodies[i]
    end
    if text and long then text = meet_one(call, i, n_taken + 1, fence, worker, session) end
    if text ~= bodies[i] and taken == ids then -- from here on they differ
      taken, data = {}, {}
      for j = 1, n_taken do taken[j], data[j] = ids[j], bodies[j] end
    end
    if text then
      n_taken = n_taken + 1
      if taken ~= ids then taken[n_taken], data[n_taken] = id, text end
      flying[at + 1], flying[at + 2] = id, n_taken > begins and '-' .. fence or fence
      at = at + 2
      if crashes then taken_crashes[n_taken] = crashes[i] or '0' end
      last_text, digit = fence, digit + 1
      if digit == 10 then stem, digit = whole((first_fence + n_taken) / 10), 0 end
    end
  end
end

-------------------------------------------------------------------------------------------------------------------- write

-- The candidates leave the lists in which they stood.
local pops, due_out, parked_out = again and 0 or n_ids, {}, {}
for i, source in pairs(from) do
  pops = pops - 1
  if source == 'd' then
    due_out[#due_out + 1] = ids[i]
  else
    parked_out[source] = parked_out[source] or {}
    table.insert(parked_out[source], ids[i])
  end
end
if #due_out > 0 then redis.call('ZREM', DUE, unpack(due_out)) end
if pops > 0 then redis.call('LTRIM', READY, whole(pops), '-1') end
for key, out in pairs(parked_out) do redis.call('ZREM', KEYS[PARKED + key], unpack(out)) end

local was_asleep -- nil: not known, the worker may still be in idle
if done == 0 and sleeps_on then
  redis.call('HDEL', INFLIGHT, '')
elseif done == 0 and (again or n_ids == 0) then
  was_asleep = redis.call('ZREM', IDLE, worker) == 1
end
if state[8] and not crashed then redis.call('HDEL', STATE, 'crashed') end
if turn == 1 then
  redis.call('HSET', STATE, 'turn', '1')
elseif turn then
  redis.call('HDEL', STATE, 'turn')
end

if marks then
  -- uses: savemarks
  save_marks(marks, READY, JOBS, CRASHES, crashed)
end

local parked = 0 -- the answer's
if state[3] or parks > 0 then
  -- uses: parked
  local names = read_parked(state[3])
  for i = 1, serves do
    if not paused and redis.call('EXISTS', KEYS[PARKED + i]) == 0 then set_parked(names, ARGV[at_serve + i], false) end
  end
  for position in pairs(call and call.parked or {}) do set_parked(names, ARGV[at_park + position], true) end
  save_parked(names, STATE)
  parked = parked_list(names)
end

if last or n_taken > 0 then
  -- written once a second, which is enough for sessions that live 5 s or longer
  if renewed ~= time[1] or ttl_ms < 5000 then redis.call('ZADD', SESSIONS, whole(now_ms + ttl_ms), session) end
  if not again then
    local holder = occurrences and ARGV[9] .. ' ' .. table.concat(call.kinds) or ARGV[9] -- the same call again needs the kinds
    redis.call('HSET', INFLIGHT, '#', ARGV[2] .. ' ' .. first_text .. ' ' .. time[1] .. ' ' .. holder, unpack(flying))
  end
end
if last_text and done > 0 then
  redis.call('HSET', STATE, 'fence', last_text, 'done', whole((state[7] or 0) + done))
elseif last_text then
  redis.call('HSET', STATE, 'fence', last_text)
elseif done > 0 then
  redis.call('HSET', STATE, 'done', whole((state[7] or 0) + done))
end
if state[4] ~= LAYOUT then redis.call('HSET', STATE, 'layout', LAYOUT) end
if state[6] ~= ARGV[3] and ttl_ms > tonumber(state[6] or 0) then redis.call('HSET', STATE, 'ttl', whole(ttl_ms)) end

if long then
  if #call.came_back > 0 and not crashed then
    redis.call('HSET', STATE, 'crashed', '1')
    crashed = true
  end
  write_changes(call, DUE, CRASHES, SCHEDULES, CURSORS, OWED, OPEN, BEHIND, COUNTERS, RUNS)
  if #call.forgotten > 0 then
    redis.call('HDEL', JOBS, unpack(call.forgotten))
    if crashed then redis.call('HDEL', CRASHES, unpack(call.forgotten)) end
  end
  write_front(READY, call.front)
  for i = 1, #call.replaced, 2 do redis.call('PUBLISH', wake .. call.replaced[i], 'r' .. call.replaced[i + 1]) end
end

------------------------------------------------------------------------------------------------------ what is left, and when

if long or #due_out > 0 then
  next_ms = due_head(DUE)
  ready_left = nil
end
local more, place, lapse, lapsed = false, 0, -1, {}
if not paused and not sleeps_on then
  more = next_ms >= 0 and next_ms <= now_ms or (ready_left or redis.call('LLEN', READY)) > 0
end
local asleep = sleep and not more and n_taken < want -- a worker that got all that it asked for has no free slot
if asleep then
  was_asleep = redis.call('ZADD', IDLE, now_text, worker) == 0 or was_asleep
elseif was_asleep == nil and not sleeps_on then
  was_asleep = redis.call('ZREM', IDLE, worker) == 1
end
if more then
  -- uses: wake
  wake_one(IDLE, wake)
end
if not more and not paused and next_ms >= 0 and (asleep or was_asleep or long and next_ms == call.soonest) then
  -- uses: alarm
  place = keep_alarm(IDLE, wake, next_ms, asleep and worker)
end
if place == 0 or paused then next_ms = -1 end
if ARGV[6] == '2' then
  -- uses: lapse
  lapse, lapsed = lapses(SESSIONS, math.max(ttl_ms, tonumber(state[6] or 0)))
end

------------------------------------------------------------------------------------------------------------------- answer

-- IDs of one length, as most are, are sent as one string.
local length = n_taken > 0 and #taken[1]
for i = 2, n_taken do
  if #taken[i] ~= length then length = nil end
end
local superseded = {}
for id in pairs(call and call.superseded or {}) do superseded[#superseded + 1] = id end
local function some(list) return #list > 0 and list or 0 end -- even an empty list costs a microsecond
return { now_us, some(refused), first_fence, math.min(begun_before or begins, n_taken),
  length and (taken == ids and joined or table.concat(taken)) or some(taken), some(data), occurrences and table.concat(call.kinds) or 0,
  some(taken_crashes), long and some(owed_of(call)) or 0, more and 1 or 0, paused and 1 or 0, next_ms, place, parked, lapse, some(lapsed), some(superseded) }
