-- work.lua: settle jobs that ended, then take what is due. The one call of a busy worker to a partition.
-- KEYS[1]  …:inflight:<session>  hash    job ID -> fence, "-" before it while not begun, "!" if it was cancelled, "+" replaced; and the field of the piece session
-- KEYS[2]  …:sessions            zset    session -> instant it lapses, Unix ms
-- KEYS[3]  …:state               hash    fence, paused, parked, layout, large, done, crashed, turn, limit; where jobs were cancelled: stale, asked
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
-- KEYS[17] …:callers             zset    sessions that have ended, see lib/closed.lua
-- KEYS[18] …:unhandled           zset    job name -> since when it has parked jobs, Unix ms
-- KEYS[19] …:handlers            hash    job name -> workers that handle it
-- KEYS[20] …:stale               zset    IDs in ready that are void, see lib/stale.lua -> since when, Unix ms
-- KEYS[21] …:results             hash    job ID -> its result
-- KEYS[22] …:kept                zset    job ID -> until when its result is kept, Unix ms
-- KEYS[23] …:progress            hash    job ID -> how far its handler is
-- KEYS[24] …:last                hash    schedule -> how it went last, see lib/history.lua; its manual runs, see lib/manual.lua
-- KEYS[25] …:history             hash    schedule -> its last attempts
-- KEYS[26] …:after               hash    job ID -> what follows its flight, see lib/after.lua
-- KEYS[27] …:notes               hash    schedule -> note of its pause
-- KEYS[28...] …:parked:<name>    zset    job ID -> instant parked, Unix ms: first those to serve, then those to park on, then, if there
--          are any of these or members of it are served, the shared one (see lib/parked.lua)
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
-- ARGV[9]  host, pid, worker and padding, kept beside the number
-- ARGV[10] how many parked names to serve
-- ARGV[11] how many names to park on
-- ARGV[12] how many finished jobs: done, without an envelope or a record; if the result of any is kept, a blank, how many of these there are, the last
--          ones, a blank and the queue
-- ARGV[13] how many jobs that were taken ahead and have begun; none of them is settled in the same call
-- ARGV[14] how many other settlements; if any has annexes, a blank and how many of these
-- ARGV[15] 1: the worker may be given a suspect (see lib/suspects.lua)
-- ARGV[16] how many members of the shared list of parked jobs to serve
-- ARGV[17...] in this order: the names to serve; the members of the shared list; the names to park on; the IDs of the finished jobs, of the begun ones and of the
--          other settlements; the fences of all of these; then four values for each other settlement: kind (d done, f failed and
--          due again, l due later, x dead, b back, p parked, m missed, c cancelled), delay in ms (p: position of the name to park on and, if it was parked before, since when; x: how many dead jobs are kept; b, x: u behind it if the handler had not begun), envelope
--          (empty: unchanged), record ("<outcome>|<started>|<ended>", Unix ms, and what lib/history.lua has of an attempt; empty: none); then three values for each annex: which
--          other settlement it belongs to, a letter, data. o: the envelope of the job to add if this one dies; r: "<how long its result
--          is kept, ms> <queue> <result>"; g: it has reported progress, which goes; then two values for each finished job whose result is kept: how long,
--          ms, and the result with its letter
-- Returns (an empty list is 0):
--   time (us)
--   positions of the settlements refused, the finished jobs first
--   of the jobs taken: fence of the first (that of each other is one more than the one before); how many are begun (the first of
--     them); the IDs (a list; if they have equal lengths: joined); the data of each (an envelope, or a definition; empty: gone); if
--     there are occurrences, a letter for each (j an ordinary job, e an occurrence with an envelope, d with a definition, n with a
--     definition and new); if jobs of the partition have crashed, the crashes of each
--   schedules whose next occurrence is owed, three values each: name, definition, cursor
--   more to take (1, 0); paused (1, 0); instant of the head of due (Unix ms, -1 nothing to wait for); place among the keepers of the
--     alarm (1, 2, 0); the field parked of state (0: no job is parked)
--   earliest lapse of the other sessions (Unix ms, -1); lapsed ones, two values each: name, lapse
--   of the names served, the positions of those with more; of the jobs taken that were parked, two values each: position, since when
--   occurrences that newer ones have ended, under policy cancel
--   what was unreadable in state and counts as none, fields joined by blanks (0: nothing)
--   of a queue with a limit, else missing or 0: a job may start (1), no token is left (2), as many jobs run as may (3)
--   schedules that this call has paused, two values each: name, how many occurrences in a row ended dead; missing: none
local INFLIGHT, SESSIONS, STATE, JOBS, DUE, READY, CRASHES, IDLE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local COUNTERS, SCHEDULES, CURSORS, OWED, OPEN, DEAD = KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13], KEYS[14]
local BEHIND, UNHANDLED = KEYS[16], KEYS[18]
local PARKED = 27 -- the lists of parked jobs come after KEYS[27]
local ARGV = ARGV -- a local is found faster than a global
local session, number, ttl_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local want, sleep, sleeps_on, worker, wake = tonumber(ARGV[4]), ARGV[6] ~= '0', ARGV[6] == '3', ARGV[7], ARGV[8]
local ahead, serves, parks, begun, others, shared = 0, 0, 0, 0, 0, 0
if ARGV[5] ~= '0' then ahead = tonumber(ARGV[5]) end
if ARGV[10] ~= '0' then serves = tonumber(ARGV[10]) end
if ARGV[11] ~= '0' then parks = tonumber(ARGV[11]) end
local finished, keeps = tonumber(ARGV[12]), nil -- keeps: of which the result is kept, see lib/kept.lua; nil: of none
if not finished then
  local n, queue
  finished, n, queue = string.match(ARGV[12], '^(%d+) (%d+) (%S+)$')
  finished, keeps = tonumber(finished), { n = tonumber(n), queue = queue, without = {} }
end
if ARGV[13] ~= '0' then begun = tonumber(ARGV[13]) end
local annexes = 0
if ARGV[14] ~= '0' then
  others = tonumber(ARGV[14])
  if not others then
    others, annexes = string.match(ARGV[14], '^(%d+) (%d+)$')
    others, annexes = tonumber(others), tonumber(annexes)
  end
end
if ARGV[16] ~= '0' then shared = tonumber(ARGV[16]) end
local at_serve = 16
local at_park = at_serve + serves + shared
local settled = finished + begun + others
local at_id = at_park + parks
local at_fence = at_id + settled
local at_other = at_fence + settled
if keeps then keeps.first, keeps.at = at_id + finished - keeps.n, at_other + 4 * others + 3 * annexes end
local OCCURRENCES = 150 -- what one call settles and takes of occurrences: one costs as much as five ordinary jobs, skipped ten
-- uses: limits clock layout due session
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

local state = redis.call('HMGET', STATE, 'fence', 'paused', 'parked', 'layout', 'large', 'done', 'crashed', 'turn', 'limit')
local refusal = newer(state[4])
if refusal then return refusal end
local paused, large = state[2], state[5]

local held = redis.call('HMGET', INFLIGHT, SELF, unpack(ARGV, at_id + 1, at_id + settled))
local header = held[1]
local last, first_drawn, renewed
if header then last, first_drawn, renewed = string.match(header, '^(%d+) (%d+) (%d+)') end
last = last and tonumber(last)
-- A session that has ended or is being reaped does not begin again, not even if its first call comes late: nobody would run its jobs.
if not last and (header or number ~= 1 or settled > 0 or redis.call('ZSCORE', KEYS[17], session)) then
  return redis.error_reply('CHIMELOST session ' .. session .. ' is gone')
end
if last and number ~= last and number ~= last + 1 then
  return redis.error_reply('CHIMELOST call ' .. ARGV[2] .. ' of session ' .. session .. ' comes after call ' .. last)
end
local again = last == number

------------------------------------------------------------------------------------------- read and check: the settlements

-- A settlement counts if the session holds the job with the fence that was named. The finished jobs for which it does are
-- ended[ended_from] to ended[ended_to]. If the job was cancelled meanwhile, "!" is before the fence, and whatever the settlement says
-- the job ends: cancels has three values for each such job: its ID, the record of its
-- attempt, and which of the other settlements it was (0: none of them; below 0: which of the finished jobs, whose result is kept). If it was replaced meanwhile, "+" is before the fence: cancels.replaced
-- has three values for each: its ID, the kind of its settlement, and which of the others it was.
local ended, ended_from, ended_to = ARGV, at_id + 1, at_id + finished
local cancels -- nil: there is none
local flying, others_held, refused = {}, {}, {} -- flying: jobs in flight with their fences, as they are to be written
if again then
  ended_to = at_id
else
  local out = refused -- which of the finished jobs are not among ended
  for i = 1, finished do
    local fence, holds = ARGV[at_fence + i], held[i + 1]
    if holds ~= fence and holds ~= '-' .. fence then
      if holds == '!' .. fence or holds == '+' .. fence then
        if out == refused then out = { unpack(refused) } end
        cancels = cancels or { replaced = {} }
        local those, mark = cancels, ''
        if holds ~= '!' .. fence then those, mark = cancels.replaced, 'd' end
        local n = #those
        those[n + 1], those[n + 2], those[n + 3] = ARGV[at_id + i], mark, keeps and i > finished - keeps.n and -i or 0
      else
        refused[#refused + 1] = i
      end
      if out ~= refused then out[#out + 1] = i end
      if keeps then keeps.without[i - finished + keeps.n] = true end
    end
  end
  if #out > 0 then
    local first, n, r = at_id, 0, 1
    ended, ended_from, ended_to = {}, 1, finished - #out
    for i = 1, finished do
      if out[r] == i then
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
    elseif holds == '!' .. fence or holds == '+' .. fence then
      cancels = cancels or { replaced = {} }
      local those, mark = cancels, ARGV[at_other + 4 * i]
      if holds ~= '!' .. fence then those, mark = cancels.replaced, ARGV[at_other + 4 * i - 3] end
      local n = #those
      those[n + 1], those[n + 2], those[n + 3] = ARGV[at_id + finished + begun + i], mark, i
    else
      refused[#refused + 1] = finished + i
    end
  end
end

-------------------------------------------------------------------------------------------- read: the limit of the queue

local limit, horizon, limit_line -- nil: the queue has none; else see lib/queuelimit.lua
local slots, flights_before = want, 0 -- how many slots the caller has free for what is taken
if state[9] then
  -- uses: queuelimit
  limit, horizon, limit_line = read_limit(state[9]), next_start, limit_text
  if limit then slots = math.max(want - ahead, 0) end
  if limit and not again then
    local back = 0 -- jobs that were taken and have not begun
    for _, i in ipairs(others_held) do
      local at = at_other + 4 * i - 3
      local n = finished + begun + i
      if unbegun(ARGV[at], ARGV[at + 1]) and held[n + 1] == ARGV[at_fence + n] then back = back + 1 end
    end
    flights_before = redis.call('HLEN', INFLIGHT)
    want, ahead = math.min(slots, allowance(limit, ended_to - ended_from + 1 + #others_held + (cancels and (#cancels + #cancels.replaced) / 3 or 0), back)), 0
    limit.was, limit.back, limit.count = limit.state, back, count_flights
  end
end

------------------------------------------------------------------------------------------------- read: what could be taken

-- ids are the candidates in order, from[i] says where each comes from: nil ready, 'd' due, n the n-th list of parked ones.
local ids, from = {}, {}
local next_ms = -1 -- instant of the head of due
if not sleeps_on then next_ms = due_head(DUE) end
local since = nil -- parked candidate -> since when; nil: there is none
local member_of = nil -- candidate from the shared list -> its member there
local ready_read = false -- …:ready was read
local turn -- which list has the odd place next time, if that changes: 1 due, 0 ready
local ready_left -- how many this call leaves in ready, as far as it has read; nil: not known
local begun_before -- of the same call again: how many of the jobs it took are begun
local sifted, strike -- where IDs in ready are void: what the piece stale has found, and its function that writes it
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
      local parked = redis.call('ZRANGE', KEYS[PARKED + i], 0, want - #ids - 1, 'WITHSCORES')
      since = since or {}
      for j = 1, #parked, 2 do
        add(parked, j, j, i)
        since[parked[j]] = parked[j + 1]
      end
    end
  end
  if shared > 0 and #ids < want then
    since, member_of = since or {}, {}
    for i, score in ipairs(redis.call('ZMSCORE', KEYS[PARKED + serves + parks + 1], unpack(ARGV, at_serve + serves + 1, at_park))) do
      local member = ARGV[at_serve + serves + i]
      local id = string.match(member, '\t(.*)$')
      if score and id and #ids < want then
        add({ id }, 1, 1, serves + parks + 1)
        since[id], member_of[id] = score, member
      end
    end
  end
  local left = want - #ids
  if left > 0 then
    -- one more than is wanted, which shows whether this call leaves any
    local ready, due = redis.call('LRANGE', READY, '0', left == want and not limit and ARGV[4] or whole(left)), {}
    if next_ms >= 0 and next_ms <= now_ms then due = redis.call('ZRANGEBYSCORE', DUE, '-inf', now_text, 'LIMIT', '0', whole(left)) end
    if state[4] == RAISED and redis.call('HGET', STATE, 'stale') then
      -- uses: stale
      ready, due, sifted = sift(READY, KEYS[20], ready, due, left)
      strike = strike_stale
    end
    -- half of each, the odd place in turn; what one leaves the other gets
    ready_read = true
    local odd = state[8] and 1 or 0
    local half = math.floor((left + odd) / 2)
    if #due > 0 and #ready > 0 and (large or left % 2 == 1) then turn = 1 - odd end
    local from_due = math.min(#due, math.max(half, left - math.min(#ready, left)))
    local from_ready = math.min(#ready, left - from_due)
    if not sifted then ready_left = #ready - from_ready end
    if from_due == 0 and serves + shared == 0 then
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

local bodies, crashes, crashed = {}, nil, state[7] and redis.call('HLEN', CRASHES) > 0
local later, later_ms -- suspects that are put off, and for how long at least
local joined, occurrences, hostile -- the IDs, one after the other; whether an occurrence is among them; whether one may be SELF
if #ids > 0 then
  bodies = redis.call('HMGET', JOBS, unpack(ids))
  if crashed then
    crashes = redis.call('HMGET', CRASHES, unpack(ids))
    if not again then
      -- uses: suspects
      local kept, off = set_apart(ids, from, crashes, ARGV[15] == '1')
      if kept then
        later, later_ms, ready_left = {}, LATER_MS, nil
        for i, position in ipairs(off) do later[i] = { id = ids[position], ready = not from[position] } end
        local kept_ids, kept_from, kept_bodies, kept_crashes = {}, {}, {}, {}
        for i, position in ipairs(kept) do
          kept_ids[i], kept_from[i], kept_bodies[i], kept_crashes[i] = ids[position], from[position], bodies[position], crashes[position]
        end
        ids, from, bodies, crashes = kept_ids, kept_from, kept_bodies, kept_crashes
      end
    end
  end
  joined = table.concat(ids)
  occurrences = string.find(joined, '@', 1, true)
  hostile = string.find(joined, SELF, 1, true)
end

----------------------------------------------------------------------------------------- read: the schedules (the long way)

local long = again or others > 0 or occurrences or cancels
local call -- what the long way knows and gathers, see lib/call.lua
local schedule_of, planned_of -- schedule and planned instant of each other settlement, if it is of an occurrence
local touched = 0 -- how many schedules
local way -- its functions, which only the next block creates
local annexed = {} -- which other settlement -> its annexes
if long then
  local function pieces() -- a function has locals of its own: here they would be too many
    -- uses: seconds strings counters definition rule owed open flight asked history call settle overlap candidates
    local all = { settle = settle, settle_cancelled = settle_cancelled, save_settlements = save_settlements, meet = meet, save_changes = save_changes,
      push_front = push_front, owed_list = owed_list, read_past = read_past, read_flights = read_flights, read_vanished = read_vanished,
      new_call = new_call, answer_again = answer_again, read_waiting = read_waiting, occurrence = occurrence, bounded = bounded, picked = picked,
      HELD = HELD }
    if annexes > 0 or keeps and cancels then
      -- uses: annex
      all.annexes_of, all.save_annexes, all.add_kept = annexes_of, save_annexes, add_kept
    end
    if cancels and cancels.replaced[1] then
      -- uses: after replaced
      all.settle_replaced, all.save_replaced = settle_replaced, save_replaced
    end
    all.streaks = function() -- of few calls
      -- uses: instant withdraw note streak
      return read_streaks, add_death, save_streaks
    end
    all.manuals = function()
      -- uses: envelope manual manual_settle
      return read_manual, settle_manual, save_manual
    end
    return all
  end
  way = pieces()
  local occurrence, picked = way.occurrence, way.picked
  if annexes > 0 then
    annexed = way.annexes_of(ARGV, at_other + 4 * others, annexes)
    for i, annex in pairs(annexed) do annex.fence = ARGV[at_fence + finished + begun + i] end
    redis.call('HLEN', KEYS[23])
  end
  if keeps and cancels then
    way.add_kept(annexed, ARGV, keeps, finished, cancels)
    way.add_kept(annexed, ARGV, keeps, finished, cancels.replaced)
  end

  if way.settle_replaced then
    local those = {}
    for i = 1, #cancels.replaced, 3 do those[#those + 1] = cancels.replaced[i] end
    cancels.texts = redis.call('HMGET', KEYS[26], unpack(those))
    redis.call('LLEN', READY)
    redis.call('ZCARD', DUE)
  end

  for _, i in ipairs(others_held) do
    local id = ARGV[at_id + finished + begun + i]
    if string.find(id, '#', 2, true) or annexed[i] and annexed[i].o then
      way.manual = way.manual or {} -- IDs of manual runs and deaths, and of what may die
      way.manual[#way.manual + 1] = id
    end
  end
  for _, those in ipairs(cancels and { cancels, cancels.replaced } or {}) do
    for i = 1, #those, 3 do
      way.manual = way.manual or {}
      way.manual[#way.manual + 1] = those[i]
    end
  end
  if way.manual then
    redis.call('HLEN', KEYS[25])
    way.read_manual, way.settle_manual, way.save_manual = way.manuals()
  end

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
  for i = 1, cancels and #cancels or 0, 3 do
    local name = occurrence(cancels[i])
    if name then
      if not known[name] then known[name], names[#names + 1] = true, name end
      needed[name] = true
    end
  end
  local kept = occurrences and not again and way.bounded(ids, from, math.max(OCCURRENCES - #names, 50), number % 2 == 1)
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
    if score and tonumber(score) >= way.HELD then needed[names[i]] = true end
  end
  local past, failing = way.read_past(KEYS[24], again and {} or names), {} -- failing: schedules with a streak, of which one dies now
  for _, i in ipairs(others_held) do
    local name = schedule_of[i]
    if name and ARGV[at_other + 4 * i - 3] == 'x' and string.find(past.texts[name] or '', ' %d+:%d*:[%d,]*$') then
      needed[name] = needed[name] or true
      failing[#failing + 1] = name
    end
  end
  local flights = way.read_flights(OPEN, BEHIND, SCHEDULES, CURSORS, names, needed)
  way.read_vanished(vanished, flights, ids, schedule, SESSIONS)
  touched = #names
  call = way.new_call(ids, from, bodies, crashes, schedule, planned, flights, owes, vanished, now_text, past)
  if #failing > 0 then
    local read
    read, call.add_death, way.save_streaks = way.streaks()
    read(call, failing, DUE, JOBS, CRASHES)
    redis.call('HLEN', KEYS[27])
    local fence = state[1] and #state[1] <= 16 and tonumber(state[1]) or 0
    call.draw = math.max(now_us, fence < 9e15 and fence + 1 or 0)
  end
  if again then
    way.answer_again(call, string.match(header, ' ([jedn]+)$') or '')
  else
    way.read_waiting(call, DUE)
  end
  if way.manual then way.read_manual(call.past, KEYS[24], way.manual) end
end

-------------------------------------------------------------------------- read: what is written below and was not read above

-- A key of a wrong type stops the call here, while nothing has happened.
local done = math.max(ended_to - ended_from + 1, 0)
if keeps or annexes > 0 then
  redis.call('HLEN', KEYS[21])
  redis.call('ZCARD', KEYS[22])
end
local lapse, lapsed, strange, mend = -1, nil, nil, nil
local renews = (last or #ids > 0) and (renewed ~= time[1] or ttl_ms < 5000) -- once a second: enough for sessions that live 5 s
if ARGV[6] == '2' then
  -- uses: lapse
  lapse, lapsed, strange = lapses(SESSIONS, session)
  mend = mend_lapses
elseif renews then
  redis.call('ZCARD', SESSIONS)
end
if #ids == 0 and (done > 0 and not sleeps_on or others > 0 or cancels) then redis.call('HEXISTS', JOBS, SELF) end
local adopts = state[3] and not string.find(state[3], '^%d+$') -- names of an older layout
if serves + parks + shared > 0 or adopts then redis.call('ZCARD', UNHANDLED) end
local asked = cancels and redis.call('HGET', STATE, 'asked') -- see lib/asked.lua
local max_dead, dead_out -- the oldest dead jobs that go for those that die now
local lists, n_lists, handlers -- of the names to park on: since when they have a list; how many have one; who handles them
if long and not again then
  local counts, runs, fronts, dies = occurrences or cancels, touched > 0, false, 0
  for _, i in ipairs(others_held) do
    local at = at_other + 4 * i - 3
    local kind = ARGV[at]
    counts, runs = counts or kind ~= 'd', runs or ARGV[at + 3] ~= ''
    fronts = fronts or kind == 'b' or annexes > 0
    if kind == 'x' then dies, max_dead = dies + 1, tonumber(string.match(ARGV[at + 1], '^%d+')) end
  end
  if counts then redis.call('HLEN', COUNTERS) end
  if runs then redis.call('XLEN', KEYS[15]) end
  if (fronts or touched > 0) and not ready_read then redis.call('LLEN', READY) end
  if touched > 0 and not state[7] then redis.call('HLEN', CRASHES) end
  if touched > 0 then redis.call('HLEN', KEYS[25]) end
  if dies > 0 then
    local excess = redis.call('ZCARD', DEAD) + dies - (max_dead or 0)
    if max_dead and excess > 0 then dead_out = redis.call('ZRANGE', DEAD, 0, math.min(excess, math.max(MAX_ITEMS - settled, dies)) - 1) end
  end
  if parks > 0 then
    lists = redis.call('ZMSCORE', UNHANDLED, unpack(ARGV, at_park + 1, at_park + parks))
    n_lists = redis.call('ZCARD', UNHANDLED)
    handlers = redis.call('HMGET', KEYS[19], unpack(ARGV, at_park + 1, at_park + parks))
    for i = 1, parks + 1 do redis.call('ZCARD', KEYS[PARKED + serves + i]) end
  end
end

-------------------------------------------------------------------------------------------------- carry out the settlements

-- The first write takes no memory, whichever it is: that lets the rest go on when the server is out of memory.
local was_asleep = not sleeps_on and redis.call('ZREM', IDLE, worker) == 1
if done > 0 then
  redis.call('HDEL', JOBS, unpack(ended, ended_from, ended_to))
  redis.call('HDEL', INFLIGHT, unpack(ended, ended_from, ended_to))
  if crashed then redis.call('HDEL', CRASHES, unpack(ended, ended_from, ended_to)) end
  if keeps then
    -- uses: kept
    keep_finished(ARGV, keeps, KEYS[21], KEYS[22], wake)
  end
elseif sleeps_on then
  redis.call('HDEL', INFLIGHT, '')
end
if strange and #strange > 0 then mend(SESSIONS, strange) end
local mark = state[3] -- the field parked
local wakes = {} -- names of which a job was parked, as positions
if #others_held > 0 or cancels then
  if cancels and cancels[1] then way.settle_cancelled(call, cancels, annexed, STATE, asked) end
  if cancels and cancels.texts then way.settle_replaced(call, cancels.replaced, cancels.texts, annexed) end
  for _, i in ipairs(others_held) do
    local at = at_other + 4 * i - 3
    way.settle(call, ARGV[at_id + finished + begun + i], schedule_of[i], planned_of[i], ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3],
      annexed[i])
  end
  if way.settle_manual then
    for i = 1, cancels and #cancels or 0, 3 do way.settle_manual(call.past, cancels[i], nil, nil, 'c', cancels[i + 1], nil, now_text) end
    for i = 1, cancels and #cancels.replaced or 0, 3 do way.settle_manual(call.past, cancels.replaced[i], nil, nil, 'r', '', nil, now_text) end
    for _, i in ipairs(others_held) do
      local at = at_other + 4 * i - 3
      way.settle_manual(call.past, ARGV[at_id + finished + begun + i], schedule_of[i], planned_of[i], ARGV[at], ARGV[at + 3], annexed[i], now_text)
    end
    way.save_manual(call.past, KEYS[24])
  end
  done = done + call.done
  way.save_settlements(call, INFLIGHT, JOBS, DUE, DEAD, CRASHES, crashed)
  if cancels and cancels.texts then way.save_replaced(cancels.replaced, KEYS[26], READY) end
  if way.save_annexes then way.save_annexes(call, KEYS[21], KEYS[22], KEYS[23], wake) end
  if call.large and not large then redis.call('HSET', STATE, 'large', '1') end
  if dead_out and #dead_out > 0 then
    local dying, oldest = {}, {}
    for i = 2, #call.dead, 2 do dying[call.dead[i]] = true end
    for _, id in ipairs(dead_out) do
      if not dying[id] then oldest[#oldest + 1] = id end
    end
    if #oldest > 0 then
      redis.call('ZREM', DEAD, unpack(oldest))
      redis.call('HDEL', JOBS, unpack(oldest))
    end
  end
end
local forget_name, shared_name -- of the piece parked, where jobs are parked or served
if (adopts or serves + shared + parks > 0) and not again then
  -- uses: parked
  forget_name, shared_name = unlist, SHARED
  if adopts then
    adopt_names(UNHANDLED, mark)
    mark = parked_mark(nil)
    redis.call('HSET', STATE, 'parked', mark)
  end
  for position, jobs in pairs(call and call.parked or {}) do
    local name, oldest = ARGV[at_park + position], tonumber(call.now)
    for i = 1, #jobs, 2 do oldest = math.min(oldest, tonumber(jobs[i])) end
    wakes[#wakes + 1] = position
    if lists[position] or n_lists < MAX_PARKED then
      redis.call('ZADD', KEYS[PARKED + serves + position], unpack(jobs))
      if not lists[position] then n_lists, mark = n_lists + 1, parked_mark(mark) end
      if not lists[position] or oldest < tonumber(lists[position]) then redis.call('ZADD', UNHANDLED, whole(oldest), name) end
    else
      for i = 2, #jobs, 2 do jobs[i] = name .. '\t' .. jobs[i] end
      redis.call('ZADD', KEYS[PARKED + serves + parks + 1], unpack(jobs))
      redis.call('ZADD', UNHANDLED, whole(oldest), SHARED)
      mark = parked_mark(mark)
    end
  end
  if mark ~= state[3] then redis.call('HSET', STATE, 'parked', mark) end
end

-------------------------------------------------------------------------------------------------------- decide what is taken

-- taken and data, the IDs and data of the answer, are the candidates and their envelopes as long as each is taken as it is.
local n_ids, n_taken, taken, data = #ids, 0, ids, bodies
local taken_crashes = {}
local odd = {} -- fields of state that cannot be read

local first_fence, first_text = now_us, now_us_text
if again then
  first_fence, first_text = tonumber(first_drawn), first_drawn
elseif state[1] and (state[1] >= now_us_text or #state[1] ~= #now_us_text) then -- as texts: both have 16 digits from 2001 to 2286
  local stored = #state[1] <= 16 and tonumber(state[1]) or -1
  if stored >= now_us and stored < 9e15 then
    first_fence = stored + 1
    first_text = whole(first_fence)
  elseif not (stored >= 0 and stored < now_us) then
    odd[#odd + 1] = 'fence'
  end
end
local done_before = tonumber(state[6] or 0) or -1
if not (done_before >= 0 and done_before < 1e15) then
  done_before = 0
  odd[#odd + 1] = 'done'
end
local begins, last_text = want - ahead, nil
if again then
  n_taken, data = n_ids, call.data
  for i = 1, crashes and n_ids or 0 do taken_crashes[i] = crashes[i] or '0' end
elseif n_ids > 0 then
  -- Each job that is taken draws a fence, one more than the last. Nine times out of ten only the last digit of its text changes.
  local DIGITS = { [0] = '0', '1', '2', '3', '4', '5', '6', '7', '8', '9' }
  local stem, digit = string.sub(first_text, 1, -2), first_fence % 10
  local at = #flying
  for i = 1, n_ids do
    local id, text = ids[i], bodies[i] or ''
    local fence = stem .. DIGITS[digit]
    if hostile and id == SELF then text = nil end -- no job has this ID: somebody wrote it there, and it goes
    if text and long then text = way.meet(call, i, n_taken + 1, fence, worker, session) end
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
    table.insert(parked_out[source], member_of and member_of[ids[i]] or ids[i])
  end
end
if #due_out > 0 then redis.call('ZREM', DUE, unpack(due_out)) end
if later and #later > 0 then
  local due = {}
  for i, suspect in ipairs(later) do
    due[2 * i - 1], due[2 * i] = whole(now_ms + later_ms + (i * 7919 + now_us) % later_ms), suspect.id
    if suspect.ready then pops = pops + 1 end
  end
  redis.call('ZADD', DUE, unpack(due))
end
if sifted then pops = strike(sifted, pops, KEYS[20], STATE, DUE) end
if pops > 0 then redis.call('LTRIM', READY, whole(pops), '-1') end
for key, out in pairs(parked_out) do redis.call('ZREM', KEYS[PARKED + key], unpack(out)) end
if state[7] and not crashed then redis.call('HDEL', STATE, 'crashed') end
if turn == 1 then
  redis.call('HSET', STATE, 'turn', '1')
elseif turn then
  redis.call('HDEL', STATE, 'turn')
end

local more_parked = {} -- positions of the names served that have more
if serves + shared > 0 and not paused then
  for i = 1, serves + (shared > 0 and 1 or 0) do
    local at = i <= serves and i or serves + parks + 1
    -- read after write: what is left is known only now
    if redis.call('ZCARD', KEYS[PARKED + at]) > 0 then
      if i <= serves then more_parked[#more_parked + 1] = i end
    elseif not again then
      if forget_name(UNHANDLED, STATE, i <= serves and ARGV[at_serve + i] or shared_name) then mark = nil end
    end
  end
end

if last or n_taken > 0 then
  if renews then redis.call('ZADD', SESSIONS, whole(now_ms + ttl_ms), session) end
  if not again then
    local holder = occurrences and ARGV[9] .. ' ' .. table.concat(call.kinds) or ARGV[9] -- the same call again needs the kinds
    redis.call('HSET', INFLIGHT, SELF, ARGV[2] .. ' ' .. first_text .. ' ' .. time[1] .. ' ' .. holder, unpack(flying))
  end
end
if last_text and done > 0 then
  redis.call('HSET', STATE, 'fence', last_text, 'done', whole(done_before + done))
elseif last_text then
  redis.call('HSET', STATE, 'fence', last_text)
elseif done > 0 then
  redis.call('HSET', STATE, 'done', whole(done_before + done))
end
if state[4] ~= LAYOUT and state[4] ~= RAISED then redis.call('HSET', STATE, 'layout', LAYOUT) end
if limit and not again then
  -- read after write: how many flights there are is known only now
  local grown = redis.call('HLEN', INFLIGHT) - flights_before - (not header and n_taken > 0 and 1 or 0)
  if grown ~= 0 or n_taken > 0 or limit.back > 0 or limit.stepped then
    limit.count(limit, grown, n_taken - limit.back)
    redis.call('HSET', STATE, 'limit', limit_line(limit))
  end
elseif state[9] and not limit then
  redis.call('HDEL', STATE, 'limit')
  odd[#odd + 1] = 'limit'
end

if long then
  if #call.came_back > 0 and not crashed then
    redis.call('HSET', STATE, 'crashed', '1')
    crashed = true
  end
  way.save_changes(call, DUE, CRASHES, SCHEDULES, CURSORS, OWED, OPEN, BEHIND, COUNTERS, KEYS[15], KEYS[24], KEYS[25])
  if way.save_streaks then way.save_streaks(call, OWED, KEYS[27]) end
  if call.drawn and call.drawn > tonumber(last_text or 0) then redis.call('HSET', STATE, 'fence', whole(call.drawn)) end
  if #call.forgotten > 0 then
    redis.call('HDEL', JOBS, unpack(call.forgotten))
    if crashed then redis.call('HDEL', CRASHES, unpack(call.forgotten)) end
  end
  way.push_front(READY, call.front)
  for i = 1, #call.replaced, 2 do redis.call('PUBLISH', wake .. call.replaced[i], 'r' .. call.replaced[i + 1]) end
end

------------------------------------------------------------------------------------------------------ what is left, and when

if long or #due_out > 0 or later or sifted then
  next_ms = due_head(DUE)
  ready_left = nil
end
local more, place = false, 0
if not paused and (not sleeps_on or cancels) then
  more = next_ms >= 0 and next_ms <= now_ms or (ready_left or redis.call('LLEN', READY)) > 0
end
local opened = false -- of a limit that was reached, or is now
if limit and not paused then
  if sleeps_on then next_ms = due_head(DUE) end
  -- read after write: a call of a sleeping worker has read neither list
  next_ms = horizon(limit, next_ms, redis.call('LLEN', READY) > 0)
  more, opened = next_ms == now_ms, limit.was ~= limit.state or limit.stepped
end
local asleep = sleep and not more and n_taken < slots -- a worker that got all that it asked for has no free slot
if asleep then redis.call('ZADD', IDLE, now_text, worker) end
if more then
  -- uses: gate wake
  wake_one(IDLE, wake)
end
if not more and not paused and next_ms >= 0 and (asleep or was_asleep or opened or long and next_ms == call.soonest) then
  -- uses: alarm
  place = keep_alarm(IDLE, wake, next_ms, asleep and worker)
end
if place == 0 or paused then next_ms = -1 end
if (#wakes > 0 or #more_parked > 0) and not paused and not again and not (limit and limit.state > 1) then
  -- uses: handlers
  for _, position in ipairs(wakes) do wake_handler(handlers[position], IDLE, wake) end
  for _, i in ipairs(more_parked) do
    -- read after write: waking comes last
    wake_handler(redis.call('HGET', KEYS[19], ARGV[at_serve + i]), IDLE, wake)
  end
end

------------------------------------------------------------------------------------------------------------------- answer

-- IDs of one length, as most are, are sent as one string.
local length = n_taken > 0 and #taken[1]
for i = 2, n_taken do
  if #taken[i] ~= length then length = nil end
end
local superseded = {}
for id in pairs(call and call.superseded or {}) do superseded[#superseded + 1] = id end
local parked_since -- of the jobs taken that were parked
if since then
  parked_since = {}
  for i = 1, n_taken do
    if since[taken[i]] then
      parked_since[#parked_since + 1] = i
      parked_since[#parked_since + 1] = since[taken[i]]
    end
  end
end
local stopped = call and call.paused[1] and call.paused or nil
local function some(list) return #list > 0 and list or 0 end -- even an empty list costs a microsecond
return { now_us, some(refused), first_fence, math.min(begun_before or begins, n_taken),
  length and (taken == ids and joined or table.concat(taken)) or some(taken), some(data), occurrences and table.concat(call.kinds) or 0,
  some(taken_crashes), long and some(way.owed_list(call)) or 0, more and 1 or 0, paused and 1 or 0, next_ms, place, mark or 0, lapse,
  lapsed and some(lapsed) or 0, some(more_parked), parked_since or 0, some(superseded), #odd > 0 and table.concat(odd, ' ') or 0,
  limit and limit.state or stopped and 0, stopped }
