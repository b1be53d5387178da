-- work.lua: end the flights of jobs, then take what is due. The one call of a busy worker to a partition.
-- KEYS[1]  …:inflight:<session>  hash    job ID -> fence, "-" before it while not begun; # -> "<number of the last call> <first fence it drew> <when it was renewed, Unix s> … <kinds that it answered>"
-- KEYS[2]  …:sessions            zset    session -> instant it lapses, Unix ms
-- KEYS[3]  …:state               hash    fence, paused, parked, layout, large, ttl, done
-- KEYS[4]  …:jobs                hash    job ID -> envelope
-- KEYS[5]  …:due                 zset    job ID -> instant it is due, Unix ms
-- KEYS[6]  …:ready               list    IDs of jobs to run now
-- KEYS[7]  …:crashes             hash    job ID -> times its holder vanished
-- KEYS[8]  …:idle                zset    sleeping worker -> instant it went to sleep
-- KEYS[9]  …:counters            hash
-- KEYS[10] …:schedules           hash    schedule -> definition
-- KEYS[11] …:cursors             hash    schedule -> "<planned instant> <runs used> <kind>"
-- KEYS[12] …:owed                zset    schedule -> instant since when its next occurrence is to be placed, Unix ms
-- KEYS[13] …:open                hash    schedule -> "<occurrence>|<fence>|<worker>|<occurrence parked behind it>"
-- KEYS[14] …:dead                zset    job ID -> instant it was given up, Unix ms
-- KEYS[15] …:runs                stream  what ran
-- KEYS[16...] …:parked:<name>    zset    job ID -> instant parked, Unix ms: first those to serve, then those to park on
-- ARGV[1]  session
-- ARGV[2]  number of this call; 1 creates the session if anything is taken
-- ARGV[3]  time to live of the session, ms
-- ARGV[4]  how many to take at most
-- ARGV[5]  how many of these, the last ones, are taken ahead: not begun
-- ARGV[6]  1: sleep when nothing is left to take and not all that was asked for came; 2: that, and tell of lapses if asleep
-- ARGV[7]  worker
-- ARGV[8]  prefix of the wake-up channels
-- ARGV[9]  host, pid and padding, kept beside the number
-- ARGV[10] how many parked names to serve; ARGV[11] how many names to park on; ARGV[12] how many finished jobs without more to say;
-- ARGV[13] how many jobs begun; ARGV[14] how many other settlements. Then, in this order: the names to serve; the names to park
-- on; the IDs of the finished, of the begun and of the others; the fences of all of these; four more of each other settlement:
-- kind, delay in ms (or position of the name to park on), envelope (empty: unchanged), record
-- Kinds: d done, f failed and due again, l later, x dead, b back, p parked, m missed. A record: "<outcome>|<started>|<ended>", Unix ms.
-- Returns (an empty list is 0) time (us); positions of the settlements refused (finished ones first); of the jobs taken: the first fence (the others
-- follow, each one more), how many are begun (the first of them), the IDs (a list; of equal lengths: joined), the data of each (an
-- envelope, or a definition; empty: gone), if there are occurrences a letter for each: j an ordinary job, e an occurrence with an
-- envelope, d with a definition, n that and new; and where jobs of the partition have crashed the crashes of each; schedules owed, three values each: name, definition,
-- cursor; more left (1, 0), paused (1, 0), instant of the next (Unix ms, -1 none to wait for), place among the keepers of the alarm
-- (1, 2, 0), parked names; earliest lapse (Unix ms, -1), lapsed sessions, two values each: name, lapse.
local INFLIGHT, SESSIONS, STATE, JOBS, DUE, READY, CRASHES, IDLE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local COUNTERS, SCHEDULES, CURSORS, OWED, OPEN, DEAD, RUNS = KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13], KEYS[14], KEYS[15]
local ARGV = ARGV -- a global costs a look-up at each use
local session, number, ttl_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local want, sleep, worker, WAKE = tonumber(ARGV[4]), ARGV[6] ~= '0', ARGV[7], ARGV[8]
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
local BODY_BYTES = 1048576 -- what one call takes of envelopes, about
local OCCURRENCES = 200 -- what one call settles and takes of occurrences: one costs as much as five ordinary jobs, skipped ten
local RETRY_BEHIND_MS = 3000 -- when an occurrence that came back and finds another in flight tries again
-- uses: clock layout wake
local now_us_text = time[1] .. string.sub('00000' .. time[2], -6)
local now_text = string.sub(now_us_text, 1, -4) -- now_ms

-- What this costs: a call of Redis 0.4 us, a closure 0.1 us, a number made of a text 0.1 us, the other way round 0.1 us by
-- whole and 0.4 us as an argument, a table that
-- grows 0.1 us, a string 1.3 ns a byte (Redis hashes each whole), the length of a long list a search. So what most calls do not need
-- is not made: they go the short way, for ordinary jobs that are finished, begun or taken. Failures, occurrences, what was parked
-- and the same call again go the long way, which begins with `if long`.

---------------------------------------------------------------------------------------------------- read: session and state

local state = redis.call('HMGET', STATE, 'fence', 'paused', 'parked', 'layout', 'large', 'ttl', 'done')
local refusal = newer(state[4])
if refusal then return refusal end
local paused, large = state[2], state[5]

local held = redis.call('HMGET', INFLIGHT, '#', unpack(ARGV, at_id + 1, at_id + settled))
local sign = held[1]
local last, first_drawn, renewed
if sign then last, first_drawn, renewed = string.match(sign, '^(%d+) (%d+) (%d+)') end
last = last and tonumber(last)
-- while it is being reaped not even its first call, come late, begins it anew: what is left in it would stay for ever
if not last and (sign or number ~= 1 or settled > 0) then
  return redis.error_reply('CHIMELOST session ' .. session .. ' is gone')
end
if last and number ~= last and number ~= last + 1 then
  return redis.error_reply('CHIMELOST call ' .. ARGV[2] .. ' of session ' .. session .. ' comes after call ' .. last)
end
local again = last == number

-------------------------------------------------------------------------------------------------------- read: settlements

-- The finished jobs that the session holds with the fence that was named are ended[ended_from] to ended[ended_to].
local ended, ended_from, ended_to = ARGV, at_id + 1, at_id + finished
local starting, others_held, refused = {}, {}, {}
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
      starting[#starting + 1] = ARGV[at_id + i]
      starting[#starting + 1] = ARGV[at_fence + i]
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

-- ids are the candidates in order, from[i] says whence: nil ready, 'd' due, n the n-th list of parked ones.
local ids, from = {}, {}
local function add(list, first, last_one, source)
  local n = #ids
  for i = first, last_one do
    n = n + 1
    ids[n], from[n] = list[i], source
  end
end

local head_due = redis.call('ZRANGE', DUE, '0', '0', 'WITHSCORES')
local next_ms = tonumber(head_due[2] or -1)
local ready_left -- how many this call leaves in ready, as far as it has looked; nil: it has not
local begun_before -- of the same call again
if again then
  local all, flights = redis.call('HGETALL', INFLIGHT), {}
  for i = 1, #all, 2 do
    local fence = string.match(all[i + 1], '^%-?(%d+)$')
    if all[i] ~= '#' and fence and tonumber(fence) >= tonumber(first_drawn) then
      flights[#flights + 1] = { id = all[i], fence = tonumber(fence), begun = all[i + 1] == fence }
    end
  end
  table.sort(flights, function(a, b) return a.fence < b.fence end)
  begun_before = 0
  for i, flight in ipairs(flights) do
    ids[i] = flight.id
    if flight.begun then begun_before = begun_before + 1 end
  end
elseif want > 0 and not paused then
  for i = 1, serves do
    if #ids < want then
      local parked = redis.call('ZRANGE', KEYS[15 + i], 0, want - #ids - 1)
      add(parked, 1, #parked, i)
    end
  end
  local left = want - #ids
  if left > 0 then
    local ready, due = redis.call('LRANGE', READY, '0', left == want and ARGV[4] or whole(left)), {} -- one more than is wanted
    if next_ms >= 0 and next_ms <= now_ms then due = redis.call('ZRANGEBYSCORE', DUE, '-inf', now_text, 'LIMIT', '0', whole(left)) end
    -- half of each, the odd one in turn; what one leaves the other gets
    local half = math.floor((left + number % 2) / 2)
    local from_due = math.min(#due, math.max(half, left - math.min(#ready, left)))
    local from_ready = math.min(#ready, left - from_due)
    ready_left = #ready - from_ready
    if from_due == 0 and serves == 0 then
      ids = ready
      ids[want + 1] = nil
    elseif large then
      -- in turn, for the call may be full of bodies before it has all of them
      for i = 1, math.max(from_ready, from_due) do
        if number % 2 == 1 then add(due, i, math.min(i, from_due), 'd') end
        add(ready, i, math.min(i, from_ready), nil)
        if number % 2 == 0 then add(due, i, math.min(i, from_due), 'd') end
      end
    else
      add(ready, 1, from_ready, nil)
      add(due, 1, from_due, 'd')
    end
  end
end

if large and not again then
  local bytes = 0
  for i, id in ipairs(ids) do
    bytes = bytes + redis.call('HSTRLEN', JOBS, id)
    if i > 1 and bytes > BODY_BYTES then
      for j = #ids, i, -1 do ids[j], from[j] = nil, nil end
      ready_left = nil
      break
    end
  end
end

local bodies, crashes, crashed = {}, nil, redis.call('HLEN', CRASHES) > 0
local joined, occurrences -- the IDs, one after the other; is one an occurrence's
if #ids > 0 then
  bodies = redis.call('HMGET', JOBS, unpack(ids))
  if crashed then crashes = redis.call('HMGET', CRASHES, unpack(ids)) end
  joined = table.concat(ids)
  occurrences = string.find(joined, '@', 1, true)
end

-------------------------------------------------------------------------------------------- what changes, and what comes back

-- taken and data, the answer's jobs, are the candidates and their envelopes as long as every one of them is taken as it is.
local n_ids, n_taken, taken, data = #ids, 0, ids, bodies
local flying, taken_crashes, forgotten = {}, {}, {}
local done = math.max(ended_to - ended_from + 1, 0)
local NONE = {}
local kinds, owed, removed, front, counts, recorded, behind, newly_parked = NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE -- the long way's
local soonest

local first_fence, first_text = now_us, now_us_text
if again then
  first_fence, first_text = tonumber(first_drawn), first_drawn
elseif state[1] and state[1] >= now_us_text then -- as texts, for both have 16 digits until the year 2286
  first_fence = tonumber(state[1]) + 1
  first_text = whole(first_fence)
end

-- unmarked returns what there is to take of a candidate that was cancelled while in ready, nil: nothing. Enqueued again for
-- later it has an entry in due besides.
local function unmarked(i)
  local id, body = ids[i], bodies[i]
  if body == '\0' then
    forgotten[#forgotten + 1] = id
    return nil
  end
  local in_ready = false
  for j = 1, n_ids do in_ready = in_ready or ids[j] == id and not from[j] end
  if not in_ready then redis.call('LREM', READY, 1, id) end
  bodies[i] = string.sub(body, 2)
  redis.call('HSET', JOBS, id, bodies[i])
  return from[i] and bodies[i]
end

------------------------------------------------------------------------------------------------------------- the long way

local long = again or others > 0 or occurrences
local settle, meet, carry_out
if long then
  -- uses: definition flight
  local byte, find, sub = string.byte, string.find, string.sub
  local NOW = '|' .. now_text .. '|' .. now_text

  -- keep ends the candidates where one more would be an occurrence too many. Those that are due and the others come in turn, so that
  -- neither keep the others waiting; what is left stays where it is.
  local function keep(most)
    if n_ids <= most then return end
    local lines, at, order, n = { {}, {} }, { 1, 1 }, {}, 0
    for i = 1, n_ids do
      local line = from[i] == 'd' and lines[2] or lines[1]
      line[#line + 1] = i
    end
    local turn = 1 + number % 2
    for _ = 1, n_ids do
      if not lines[turn][at[turn]] then turn = 3 - turn end
      local i = lines[turn][at[turn]]
      if find(ids[i], '@', 1, true) then most = most - 1 end
      if most < 0 and n > 0 then break end
      n = n + 1
      order[n] = i
      at[turn] = at[turn] + 1
      turn = 3 - turn
    end
    local all_ids, all_from, all_bodies, all_crashes = ids, from, bodies, crashes
    ids, from, bodies, crashes, n_ids = {}, {}, {}, crashes and {}, n
    for j, i in ipairs(order) do
      ids[j], from[j], bodies[j] = all_ids[i], all_from[i], all_bodies[i]
      if crashes then crashes[j] = all_crashes[i] end
    end
  end

  -- Schedule and planned instant of each occurrence, by its place among the candidates and among the other settlements.
  local schedule, planned, schedule_of, planned_of = {}, {}, {}, {}
  local names, asked, needed, met = {}, {}, {}, {} -- the schedules that this call touches; those whose occurrence it meets
  for _, i in ipairs(others_held) do
    local name, instant = occurrence(ARGV[at_id + finished + begun + i])
    schedule_of[i], planned_of[i] = name, instant
    if name and not asked[name] then
      asked[name] = true
      names[#names + 1] = name
    end
    if name and ARGV[at_other + 4 * i - 3] == 'm' then needed[name] = true end
  end
  if occurrences and not again then keep(math.max(OCCURRENCES - #names, 50)) end
  if occurrences then
    for i = 1, n_ids do
      local name, instant = occurrence(ids[i])
      if name then
        schedule[i], planned[i] = name, instant
        if not needed[name] or not asked[name] then
          needed[name] = true
          met[#met + 1] = name
        end
        if not asked[name] then
          asked[name] = true
          names[#names + 1] = name
        end
      end
    end
  end
  learn(names, needed)
  local owes = {} -- schedules in owed
  if #met > 0 then
    for i, since in ipairs(redis.call('ZMSCORE', OWED, unpack(met))) do owes[met[i]] = since end
  end

  taken, data = {}, {}
  kinds, owed, removed, front, counts, recorded, behind, newly_parked = {}, {}, {}, {}, {}, {}, {}, {}

  -- describe returns what the answer says of the i-th candidate, and notes what it is, the n-th of the answer.
  local function describe(i, n, fresh)
    local text, name = bodies[i], schedule[i]
    if not name then
      kinds[n] = 'j'
    elseif text or not definitions[name] then
      kinds[n] = 'e'
    else
      kinds[n] = fresh and 'n' or 'd'
      return definitions[name]
    end
    if not text then return '' end
    return byte(text, 1) == 0 and sub(text, 2) or text
  end

  -- at_cursor tells whether this occurrence is the one at the cursor.
  local function at_cursor(name, instant)
    local text = cursors[name]
    return text and byte(text, -1) == 112 and find(text, instant, 1, true) == 1 and byte(text, #instant + 1) == 32
  end

  local function tell_owed(name)
    local n = #owed
    owed[n + 1], owed[n + 2], owed[n + 3] = name, definitions[name] or '', cursors[name] or ''
  end

  -- Under skip and cancel an occurrence taken now ends the retries of the one before it, if that waits in due. The same call again
  -- names the schedules whose occurrence it took and whose next has not been placed since.
  local waiting = {}
  if again then
    local told = string.match(sign, ' ([jedn]+)$') or ''
    for i = 1, n_ids do
      local name = schedule[i]
      if name and owes[name] and at_cursor(name, planned[i]) then tell_owed(name) end
      if crashes then taken_crashes[i] = crashes[i] or '0' end
      taken[i], data[i] = ids[i], describe(i, i, byte(told, i) == 110)
    end
    n_taken = n_ids
  else
    local before = {}
    for i, name in pairs(schedule) do
      local open = opens[name]
      local id = open and sub(open, -4) == '|0||' and opened(name)
      if id and id ~= ids[i] and waiting[id] == nil then
        waiting[id] = false
        before[#before + 1] = id
      end
    end
    if #before > 0 then
      for i, due_ms in ipairs(redis.call('ZMSCORE', DUE, unpack(before))) do waiting[before[i]] = due_ms end
    end
  end

  -- What is to be written of all of them, in one command a key.
  local owing_now, cursors_changed, definitions_changed = {}, {}, {}
  local envelopes, due_in, dead_in, parked_in, uncrashed, called_off = {}, {}, {}, {}, {}, {}

  local function add_pair(list, one, other)
    local n = #list
    list[n + 1], list[n + 2] = one, other
  end

  local function count(field, n)
    counts[field] = (counts[field] or 0) + n
  end

  -- record notes a line for the record of runs, the text as in ARGV.
  local function record(name, instant, text)
    recorded[#recorded + 1] = name
    recorded[#recorded + 1] = instant
    recorded[#recorded + 1] = text
  end

  local function owe(name)
    if owes[name] then return end
    owes[name] = true
    add_pair(owing_now, now_text, name)
    tell_owed(name)
  end

  -- come_back says of an occurrence without an envelope that it is not a new one.
  local function come_back(id)
    redis.call('HSETNX', CRASHES, id, 0)
    crashed = true
  end

  -- unused gives a run back to the schedule's count; a schedule that had completed lives again.
  local function unused(name)
    local at, used, kind = cursor(cursors[name])
    if at and used > 0 then
      cursors[name] = at .. ' ' .. whole(used - 1) .. ' ' .. kind
      cursors_changed[name] = true
    end
    if policy(definitions[name]) == 'completed' then
      local revision, _, created, overlap, rest = head(definitions[name])
      definitions[name] = definition(revision, 'live', created, overlap, rest)
      definitions_changed[name] = true
      owe(name)
    end
  end

  -- settle carries out the i-th of the other settlements.
  settle = function(i)
    local at = at_other + 4 * i - 3
    local id, kind, body, text = ARGV[at_id + finished + begun + i], ARGV[at], ARGV[at + 2], ARGV[at + 3]
    local name = schedule_of[i]
    removed[#removed + 1] = id
    local final = kind == 'd' or kind == 'x' or kind == 'm'
    if kind == 'd' then
      done = done + 1
      forgotten[#forgotten + 1] = id
    elseif kind == 'm' then
      forgotten[#forgotten + 1] = id
      local _, created = policy(definitions[name])
      if created and created <= planned_of[i] then -- else its schedule was removed; another one of that name gets nothing of it
        count(name .. '/missed', 1)
        unused(name)
      end
    else
      if body ~= '' then add_pair(envelopes, id, body) end
      if kind == 'f' or kind == 'l' then
        if kind == 'f' then
          count('/failed', 1)
          count('/retried', 1)
        end
        if name and body == '' then come_back(id) end
        local at_ms = math.ceil((now_us + (tonumber(ARGV[at + 1]) or 0) * 1000) / 1000)
        add_pair(due_in, whole(at_ms), id)
        if not soonest or at_ms < soonest then soonest = at_ms end
      elseif kind == 'x' then
        count('/failed', 1)
        count('/died', 1)
        add_pair(dead_in, now_text, id)
        if crashed then uncrashed[#uncrashed + 1] = id end
      elseif kind == 'p' then
        local position = tonumber(ARGV[at + 1])
        if not parked_in[position] then
          parked_in[position] = {}
          newly_parked[#newly_parked + 1] = ARGV[at_park + position]
        end
        add_pair(parked_in[position], now_text, id)
      else
        front[#front + 1] = id
      end
    end
    if name then
      landed(name, id, final)
      if text ~= '' then record(name, planned_of[i], text) end
    end
  end

  -- decide says what becomes of an occurrence: 'take', 'drop' (nothing to count), 'skip', 'park', 'supersede' or 'behind'. Then:
  -- is it new, is the next one owed, its overlap policy, and the one before it whose retries it ends.
  local function decide(i, name, instant)
    local id, body = ids[i], bodies[i]
    local condition, created, overlap = policy(definitions[name])
    local back = body or crashes and crashes[i] or from[i] ~= 'd'
    if not body and (not definitions[name] or created and created > instant) then return 'drop' end
    local owing = condition == 'live' and at_cursor(name, instant)
    if not opens[name] or not overlap or overlap == 'allow' then return 'take', not back, owing, overlap end
    local open_id, open_fence, _, open_parked = opened(name)
    if open_id == id then return 'take', not back, owing, overlap end
    local _, open_planned = occurrence(open_id)
    if open_fence == '0' then
      local ends = overlap ~= 'wait' and open_planned < instant and waiting[open_id] and open_id
      return 'take', not back, owing, overlap, ends
    end
    if not back then
      if overlap ~= 'skip' and open_parked == '' then return 'park', true, owing, overlap end
      return 'skip', true, owing, overlap
    end
    if open_planned > instant and overlap ~= 'wait' then return 'supersede', false, owing, overlap end
    return 'behind', false, owing, overlap
  end

  local superseded = {}
  -- board takes an occurrence under this fence, and ends the retries of the one before it.
  local function board(i, name, overlap, ends, fence)
    if ends then
      called_off[#called_off + 1] = ends
      superseded[ends] = true
      forgotten[#forgotten + 1] = ends
      count(name .. '/superseded', 1)
      local _, ended_planned = occurrence(ends)
      record(name, ended_planned, 'superseded' .. NOW)
    end
    if overlap and overlap ~= 'allow' then
      set_open(name, ids[i] .. '|' .. fence .. '|' .. worker .. '|') -- nothing is parked behind one that is not in flight
    end
  end

  -- meet carries out what becomes of a candidate. Returns what the answer says of it, as its n-th, if it is taken.
  meet = function(i, n, fence)
    local id, name = ids[i], schedule[i]
    if not name then
      kinds[n] = 'j'
      return bodies[i] or ''
    end
    if superseded[id] then return nil end -- by one that this call took before it
    local verdict, fresh, owing, overlap, ends = decide(i, name, planned[i])
    local text
    if verdict == 'take' then
      text = describe(i, n, fresh)
      board(i, name, overlap, ends, fence)
      if fresh then count(name .. '/started', 1) end
    elseif verdict == 'park' then
      local open_id, open_fence, open_worker = opened(name)
      set_open(name, open_id .. '|' .. open_fence .. '|' .. open_worker .. '|' .. id)
      if overlap == 'cancel' then redis.call('PUBLISH', WAKE .. open_worker, 'r' .. open_id) end
    elseif verdict == 'behind' then
      behind[#behind + 1] = id
      if not bodies[i] then come_back(id) end
    else
      forgotten[#forgotten + 1] = id
      if verdict == 'drop' then
        landed(name, id, true)
        return nil
      end
      local word = verdict == 'skip' and 'skipped' or 'superseded'
      count(name .. '/' .. word, 1)
      record(name, planned[i], word .. NOW)
    end
    if owing then owe(name) end
    if verdict == 'skip' then unused(name) end
    return text
  end

  local function set_changed(changed, values)
    local list = {}
    for name in pairs(changed) do add_pair(list, name, values[name]) end
    return list
  end

  -- carry_out writes what settle and meet have gathered.
  carry_out = function()
    if #called_off > 0 then redis.call('ZREM', DUE, unpack(called_off)) end
    if #due_in > 0 then redis.call('ZADD', DUE, unpack(due_in)) end
    if #envelopes > 0 then redis.call('HSET', JOBS, unpack(envelopes)) end
    if #dead_in > 0 then redis.call('ZADD', DEAD, unpack(dead_in)) end
    for position, list in pairs(parked_in) do redis.call('ZADD', KEYS[15 + serves + position], unpack(list)) end
    if #uncrashed > 0 then redis.call('HDEL', CRASHES, unpack(uncrashed)) end
    if #owing_now > 0 then redis.call('ZADD', OWED, unpack(owing_now)) end
    save_opens()
    local list = set_changed(cursors_changed, cursors)
    if #list > 0 then redis.call('HSET', CURSORS, unpack(list)) end
    list = set_changed(definitions_changed, definitions)
    if #list > 0 then redis.call('HSET', SCHEDULES, unpack(list)) end

    local fields = {}
    for field in pairs(counts) do fields[#fields + 1] = field end
    if #fields > 4 then -- two commands instead of one a field
      -- read after write: what is counted is known only now
      local sums = redis.call('HMGET', COUNTERS, unpack(fields))
      list = {}
      for i, field in ipairs(fields) do add_pair(list, field, sums[i] and whole(sums[i] + counts[field]) or whole(counts[field])) end
      redis.call('HSET', COUNTERS, unpack(list))
    else
      for field, n in pairs(counts) do redis.call('HINCRBY', COUNTERS, field, whole(n)) end
    end
    for i = 1, #recorded, 3 do
      local text = recorded[i + 2]
      local first = find(text, '|', 1, true)
      local second = find(text, '|', first + 1, true)
      redis.call('XADD', RUNS, 'MAXLEN', '~', '10000', '*', 'schedule', recorded[i], 'planned', recorded[i + 1],
        'started', sub(text, first + 1, second - 1), 'ended', sub(text, second + 1), 'outcome', sub(text, 1, first - 1))
    end
  end
end

-------------------------------------------------------------------------------------------------------------------- write

-- The first write takes no memory: it lets the rest go on when the server is out of it.
local was_asleep -- nil: not known, for the worker may still be on the list
if ended_to >= ended_from then
  redis.call('HDEL', INFLIGHT, unpack(ended, ended_from, ended_to))
  redis.call('HDEL', JOBS, unpack(ended, ended_from, ended_to))
  if crashed then redis.call('HDEL', CRASHES, unpack(ended, ended_from, ended_to)) end
else
  was_asleep = redis.call('ZREM', IDLE, worker) == 1
end
if #starting > 0 then redis.call('HSET', INFLIGHT, unpack(starting)) end
for _, i in ipairs(others_held) do settle(i) end

-- Each that is taken draws a fence, one more than the last. Their texts differ in the last digit, but for every tenth.
local DIGITS = { [0] = '0', '1', '2', '3', '4', '5', '6', '7', '8', '9' }
local begins, last_text = want - ahead, nil
local stem, digit = string.sub(first_text, 1, -2), first_fence % 10
if not again then
  local byte = string.byte
  for i = 1, n_ids do
    local id, text = ids[i], bodies[i]
    local fence = stem .. DIGITS[digit]
    if long then
      if text and byte(text, 1) == 0 then text = unmarked(i) end
      if text or not bodies[i] then text = meet(i, n_taken + 1, fence) end
    elseif not text then
      text = ''
    elseif byte(text, 1) == 0 then
      text = unmarked(i)
    end
    if text ~= bodies[i] and taken == ids then -- from here on they differ
      taken, data = {}, {}
      for j = 1, n_taken do taken[j], data[j] = ids[j], bodies[j] end
    end
    if text then
      n_taken = n_taken + 1
      if taken ~= ids then taken[n_taken], data[n_taken] = id, text end
      flying[2 * n_taken - 1], flying[2 * n_taken] = id, n_taken > begins and '-' .. fence or fence
      if crashes then taken_crashes[n_taken] = crashes[i] or '0' end
      last_text, digit = fence, digit + 1
      if digit == 10 then stem, digit = whole((first_fence + n_taken) / 10), 0 end
    end
  end
end

-- Out of the lines they stood in, then into those they go to.
local pops, due_out, parked_out = n_ids, {}, {}
for i, source in pairs(from) do
  pops = pops - 1
  if source == 'd' then
    due_out[#due_out + 1] = ids[i]
  else
    parked_out[source] = parked_out[source] or {}
    table.insert(parked_out[source], ids[i])
  end
end
if again then pops = 0 end
if #due_out > 0 then redis.call('ZREM', DUE, unpack(due_out)) end
if pops > 0 then redis.call('LTRIM', READY, whole(pops), '-1') end
for key, gone in pairs(parked_out) do redis.call('ZREM', KEYS[15 + key], unpack(gone)) end
local parked = 0 -- the answer's
if state[3] or #newly_parked > 0 then
  -- uses: parked
  read_parked(state[3])
  for i = 1, serves do
    if not paused and redis.call('EXISTS', KEYS[15 + i]) == 0 then set_parked(ARGV[at_serve + i], false) end
  end
  for _, name in ipairs(newly_parked) do set_parked(name, true) end
  save_parked()
  parked = parked_list()
end
for _, id in ipairs(behind) do
  local at_ms = now_ms + RETRY_BEHIND_MS
  redis.call('ZADD', DUE, whole(at_ms), id)
  if not soonest or at_ms < soonest then soonest = at_ms end
end
if #removed > 0 then redis.call('HDEL', INFLIGHT, unpack(removed)) end
if #forgotten > 0 then
  redis.call('HDEL', JOBS, unpack(forgotten))
  if crashed then redis.call('HDEL', CRASHES, unpack(forgotten)) end
end
for i = #front, 1, -1 do redis.call('LPUSH', READY, front[i]) end
if last or n_taken > 0 then
  -- once a second is enough for a session that lives as long at least
  if renewed ~= time[1] or ttl_ms < 1000 then redis.call('ZADD', SESSIONS, whole(now_ms + ttl_ms), session) end
  if not again then
    local holder = occurrences and ARGV[9] .. ' ' .. table.concat(kinds) or ARGV[9] -- for the same call again
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
if not state[4] then redis.call('HSET', STATE, 'layout', LAYOUT) end
if state[6] ~= ARGV[3] and ttl_ms > tonumber(state[6] or 0) then redis.call('HSET', STATE, 'ttl', whole(ttl_ms)) end
if long then carry_out() end

----------------------------------------------------------------------------------------------------------- what comes next

if long or #due_out > 0 then
  next_ms = tonumber(redis.call('ZRANGE', DUE, '0', '0', 'WITHSCORES')[2] or -1)
  ready_left = nil
end
local more, place, lapse, lapsed = false, 0, -1, {}
if not paused then
  more = next_ms >= 0 and next_ms <= now_ms or (ready_left or redis.call('LLEN', READY)) > 0
end
local asleep = sleep and not more and n_taken < want -- who got all it asked for has no slot free
if asleep then
  was_asleep = redis.call('ZADD', IDLE, now_text, worker) == 0 or was_asleep
elseif was_asleep == nil then
  was_asleep = redis.call('ZREM', IDLE, worker) == 1
end
if more then wake_one() end
if not more and not paused and next_ms >= 0 and (asleep or was_asleep or next_ms == soonest) then
  -- uses: alarm
  place = keep_alarm(next_ms, asleep and worker)
end
if place == 0 or paused then next_ms = -1 end
if asleep and ARGV[6] == '2' then
  -- uses: lapse
  lapse, lapsed = lapses(SESSIONS, math.max(ttl_ms, tonumber(state[6] or 0)))
end

-- IDs of one length, as most are, travel as one string.
local length = n_taken > 0 and #taken[1]
for i = 2, n_taken do
  if #taken[i] ~= length then length = nil end
end
local function some(list) return #list > 0 and list or 0 end -- a list costs a microsecond, empty too
return { now_us, some(refused), first_fence, math.min(begun_before or begins, n_taken),
  length and (taken == ids and joined or table.concat(taken)) or some(taken), some(data), occurrences and table.concat(kinds) or 0, some(taken_crashes), some(owed),
  more and 1 or 0, paused and 1 or 0, next_ms, place, parked, lapse, some(lapsed) }
