-- work.lua: end the flights of jobs, then take what is due. The one call of a busy worker to a partition.
-- KEYS[1]  …:inflight:<session>  hash    job ID -> fence, "-" before it while not begun; # -> "<number of the last call> <first fence it drew> …"
-- KEYS[2]  …:sessions            zset    session -> instant it lapses, Unix ms
-- KEYS[3]  …:state               hash    fence, paused, parked, layout, large, ttl
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
-- ARGV[6]  1: sleep when nothing is left to take and not all that was asked for came
-- ARGV[7]  worker
-- ARGV[8]  prefix of the wake-up channels
-- ARGV[9]  age at which a sleeper's registration is passed over, ms
-- ARGV[10] host, pid and padding, kept beside the number
-- ARGV[11] how many parked names to serve; ARGV[12] how many names to park on; ARGV[13] how many finished jobs without more to say;
-- ARGV[14] how many jobs begun; ARGV[15] how many other settlements. Then, in this order:
-- the names to serve; the names to park on; job ID, fence of each finished job; job ID, fence of each begun job;
-- six of each other settlement: job ID, fence, kind, delay in ms (or position of the name to park on), envelope (empty: unchanged), record
-- Kinds: d done, f failed and due again, l later, x dead, b back, p parked, m missed. A record: "<outcome>|<started>|<ended>", Unix ms.
-- Returns time (us); positions of the settlements refused (finished ones first); jobs taken, seven values each: ID, fence, crashes,
-- new, begun, form of the data (b envelope, d definition, - gone), data; schedules owed, three values each: name, definition, cursor;
-- more left (1, 0), paused (1, 0), instant of the next (Unix ms, -1 none to wait for), place among the keepers of the alarm (1, 2, 0),
-- parked names; earliest lapse (Unix ms, -1), lapsed sessions, two values each: name, lapse.
local INFLIGHT, SESSIONS, STATE, JOBS, DUE, READY, CRASHES, IDLE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local COUNTERS, SCHEDULES, CURSORS, OWED, OPEN, DEAD, RUNS = KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13], KEYS[14], KEYS[15]
local session, number, ttl_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local want, ahead, sleep, worker = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1', ARGV[7]
local WAKE, STALE_MS = ARGV[8], tonumber(ARGV[9])
local serves, parks, finished, begun, others = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13]), tonumber(ARGV[14]), tonumber(ARGV[15])
local at_serve = 15
local at_park = at_serve + serves
local at_finished = at_park + parks
local at_begun = at_finished + 2 * finished
local at_others = at_begun + 2 * begun
local BODY_BYTES = 1048576 -- what one call takes of envelopes, about
local RETRY_BEHIND_MS = 3000 -- when an occurrence that came back and finds another in flight tries again
-- uses: clock layout wake lapse definition flight parked

---------------------------------------------------------------------------------------------------- read: session and state

local state = redis.call('HMGET', STATE, 'fence', 'paused', 'parked', 'layout', 'large', 'ttl')
local refusal = newer(state[4])
if refusal then return refusal end
local paused, large = state[2], state[5]
local last_fence = tonumber(state[1] or 0)
read_parked(state[3])

local sign = redis.call('HGET', INFLIGHT, '#')
local last, first_drawn = string.match(sign or '', '^(%d+) (%d+)')
last = tonumber(last)
-- while it is being reaped not even its first call, come late, begins it anew: what is left in it would stay for ever
if not last and (sign or number ~= 1 or finished + begun + others > 0) then
  return redis.error_reply('CHIMELOST session ' .. session .. ' is gone')
end
if last and number ~= last and number ~= last + 1 then
  return redis.error_reply('CHIMELOST call ' .. ARGV[2] .. ' of session ' .. session .. ' comes after call ' .. last)
end
local again = last == number

-------------------------------------------------------------------------------------------------------- read: settlements

local names, asked, refused = {}, {}, {}
local function ask(id)
  local name = occurrence(id)
  if name and opens[name] == nil and not asked[name] then
    asked[name] = true
    names[#names + 1] = name
  end
end

local function held(at, count, step)
  local ids = {}
  for i = 1, count do ids[i] = ARGV[at + (i - 1) * step + 1] end
  return count > 0 and redis.call('HMGET', INFLIGHT, unpack(ids)) or {}
end

local ended, starting, others_held = {}, {}, {}
if not again then
  local fences = held(at_finished, finished, 2)
  for i = 1, finished do
    local id, fence = ARGV[at_finished + 2 * i - 1], ARGV[at_finished + 2 * i]
    if fences[i] == fence or fences[i] == '-' .. fence then ended[#ended + 1] = id else refused[#refused + 1] = i end
  end
  fences = held(at_begun, begun, 2)
  for i = 1, begun do
    local id, fence = ARGV[at_begun + 2 * i - 1], ARGV[at_begun + 2 * i]
    if fences[i] == '-' .. fence then
      starting[#starting + 1] = id
      starting[#starting + 1] = fence
    end
  end
  fences = held(at_others, others, 6)
  for i = 1, others do
    local id, fence = ARGV[at_others + 6 * i - 5], ARGV[at_others + 6 * i - 4]
    if fences[i] == fence or fences[i] == '-' .. fence then
      others_held[#others_held + 1] = i
      ask(id)
    else
      refused[#refused + 1] = finished + i
    end
  end
end

------------------------------------------------------------------------------------------------- read: what could be taken

local popped = {} -- IDs that this call takes off the head of ready
-- candidates: { id, source: 's' parked, 'r' ready, 'd' due, key of the parked list, body, crashes }
local candidates = {}
if again then
  local all = redis.call('HGETALL', INFLIGHT)
  for i = 1, #all, 2 do
    local fence = string.match(all[i + 1], '^%-?(%d+)$')
    if all[i] ~= '#' and fence and tonumber(fence) >= tonumber(first_drawn) then
      candidates[#candidates + 1] = { id = all[i], fence = fence, begun = all[i + 1] == fence }
    end
  end
  table.sort(candidates, function(a, b) return tonumber(a.fence) < tonumber(b.fence) end)
elseif want > 0 and not paused then
  for i = 1, serves do
    if #candidates < want then
      for _, id in ipairs(redis.call('ZRANGE', KEYS[15 + i], 0, want - #candidates - 1)) do
        candidates[#candidates + 1] = { id = id, source = 's', key = i }
      end
    end
  end
  local left = want - #candidates
  if left > 0 then
    local due = redis.call('ZRANGEBYSCORE', DUE, '-inf', whole(now_ms), 'LIMIT', 0, left)
    local ready = redis.call('LRANGE', READY, 0, left - 1)
    -- half of each, the odd one in turn; what one leaves the other gets
    local half = math.floor((left + number % 2) / 2)
    local from_due = math.min(#due, math.max(half, left - #ready))
    local from_ready = math.min(#ready, left - from_due)
    if large then
      -- in turn, for the call may be full of bodies before it has all of them
      for i = 1, math.max(from_ready, from_due) do
        if i <= from_due and number % 2 == 1 then candidates[#candidates + 1] = { id = due[i], source = 'd' } end
        if i <= from_ready then candidates[#candidates + 1] = { id = ready[i], source = 'r' } end
        if i <= from_due and number % 2 == 0 then candidates[#candidates + 1] = { id = due[i], source = 'd' } end
      end
    else
      for i = 1, from_ready do candidates[#candidates + 1] = { id = ready[i], source = 'r' } end
      for i = 1, from_due do candidates[#candidates + 1] = { id = due[i], source = 'd' } end
    end
  end
end

if #candidates > 0 then
  if large and not again then
    local bytes, fit = 0, 0
    for i, candidate in ipairs(candidates) do
      bytes = bytes + redis.call('HSTRLEN', JOBS, candidate.id)
      if i > 1 and bytes > BODY_BYTES then break end
      fit = i
    end
    for i = #candidates, fit + 1, -1 do candidates[i] = nil end
  end
  local ids = {}
  for i, candidate in ipairs(candidates) do
    ids[i] = candidate.id
    ask(candidate.id)
  end
  local bodies = redis.call('HMGET', JOBS, unpack(ids))
  local crashes = redis.call('HLEN', CRASHES) > 0 and redis.call('HMGET', CRASHES, unpack(ids)) or {}
  for i, candidate in ipairs(candidates) do
    candidate.body = bodies[i]
    candidate.crashes = crashes[i]
    if candidate.source == 'r' then popped[candidate.id] = true end
  end
end
learn(names)

-- Under skip and cancel an occurrence taken now ends the retries of the one before it, if that waits in due.
local waiting = {}
if not again then
  for _, candidate in ipairs(candidates) do
    local name = occurrence(candidate.id)
    local before = name and opens[name]
    if before and before.fence == '0' and before.id ~= candidate.id and waiting[before.id] == nil then
      waiting[before.id] = redis.call('ZSCORE', DUE, before.id) or false
    end
  end
end

-- The same call again names the schedules whose occurrence it took and whose next has not been placed since.
local owed = {}
if again then
  for _, candidate in ipairs(candidates) do
    local name, planned = occurrence(candidate.id)
    local at, _, kind = cursor(name and cursors[name])
    if kind == 'p' and at == planned and redis.call('ZSCORE', OWED, name) then
      candidate.fresh = not candidate.body and not candidate.crashes
      for _, value in ipairs({ name, definitions[name] or '', cursors[name] }) do owed[#owed + 1] = value end
    end
  end
end

-- taken builds the answer for one job.
local taken = {}
local function give(candidate)
  local name = occurrence(candidate.id)
  local form, data = '-', ''
  if candidate.body then
    form, data = 'b', candidate.body
    if string.byte(data, 1) == 0 then data = string.sub(data, 2) end
  elseif name and definitions[name] then
    form, data = 'd', definitions[name]
  end
  local fresh = candidate.fresh and 1 or 0
  for _, value in ipairs({ candidate.id, candidate.fence, tonumber(candidate.crashes or 0), fresh, candidate.begun and 1 or 0, form, data }) do
    taken[#taken + 1] = value
  end
end

-------------------------------------------------------------------------------------------------------------------- write

local was_asleep = redis.call('ZREM', IDLE, worker) == 1 -- first, for it lets the rest go on when the server is out of memory
local removed, forgotten, recorded = {}, {}, {}
local counts, soonest = {}, nil

local function count(field, n)
  counts[field] = (counts[field] or 0) + n
end

local function record(name, planned, text)
  local outcome, started, stopped = string.match(text, '^([^|]*)|([^|]*)|([^|]*)$')
  recorded[#recorded + 1] = { name, planned, started, stopped, outcome }
end

local function later(id, at_ms)
  redis.call('ZADD', DUE, whole(at_ms), id)
  if not soonest or at_ms < soonest then soonest = at_ms end
end

local function owe(name)
  local at, used = cursor(cursors[name])
  if redis.call('ZADD', OWED, 'NX', whole(now_ms), name) == 1 then
    owed[#owed + 1] = name
    owed[#owed + 1] = definitions[name]
    owed[#owed + 1] = cursors[name] or ''
  end
end

-- unused gives a run back to the schedule's count; a schedule that had completed lives again.
local function unused(name)
  local at, used, kind = cursor(cursors[name])
  if at and used > 0 then
    cursors[name] = at .. ' ' .. whole(used - 1) .. ' ' .. kind
    redis.call('HSET', CURSORS, name, cursors[name])
  end
  local revision, condition, created, overlap, rest = head(definitions[name])
  if condition == 'completed' then
    definitions[name] = definition(revision, 'live', created, overlap, rest)
    redis.call('HSET', SCHEDULES, name, definitions[name])
    owe(name)
  end
end

if #ended > 0 then
  for _, id in ipairs(ended) do
    removed[#removed + 1] = id
    forgotten[#forgotten + 1] = id
  end
  count('/done', #ended)
end
if #starting > 0 then redis.call('HSET', INFLIGHT, unpack(starting)) end

local newly_parked = {}
for _, i in ipairs(others_held) do
  local at = at_others + 6 * i - 5
  local id, kind, amount, body, text = ARGV[at], ARGV[at + 2], tonumber(ARGV[at + 3]) or 0, ARGV[at + 4], ARGV[at + 5]
  local name, planned = occurrence(id)
  removed[#removed + 1] = id
  local final = kind == 'd' or kind == 'x' or kind == 'm'
  if kind == 'd' then
    count('/done', 1)
    forgotten[#forgotten + 1] = id
  elseif kind == 'm' then
    forgotten[#forgotten + 1] = id
    local _, _, created = head(definitions[name])
    if created and created <= planned then -- else its schedule was removed; another one of that name gets nothing of it
      count(name .. '/missed', 1)
      unused(name)
    end
  else
    if body ~= '' then redis.call('HSET', JOBS, id, body) end
    if kind == 'f' or kind == 'l' then
      if kind == 'f' then
        count('/failed', 1)
        count('/retried', 1)
      end
      if name and body == '' then redis.call('HSETNX', CRASHES, id, 0) end
      later(id, math.ceil((now_us + amount * 1000) / 1000))
    elseif kind == 'x' then
      count('/failed', 1)
      count('/died', 1)
      redis.call('ZADD', DEAD, whole(now_ms), id)
      redis.call('HDEL', CRASHES, id)
    elseif kind == 'p' then
      redis.call('ZADD', KEYS[15 + serves + amount], whole(now_ms), id)
      newly_parked[#newly_parked + 1] = ARGV[at_park + amount]
    else
      front[#front + 1] = id
    end
  end
  if name then
    landed(name, id, final)
    if text ~= '' then record(name, planned, text) end
  end
end

-- decide says what becomes of an occurrence: 'take', 'drop' (nothing to count), 'skip', 'park', 'supersede' or 'behind'.
local function decide(candidate, name, planned)
  local revision, condition, created, overlap = head(definitions[name])
  candidate.overlap = overlap
  local back = candidate.body or candidate.crashes or candidate.source ~= 'd'
  candidate.fresh = not back
  if not candidate.body then
    if not definitions[name] then return 'drop' end
    if created and created > planned then return 'drop' end
  end
  local at, _, kind = cursor(cursors[name])
  if condition == 'live' and kind == 'p' and at == planned then candidate.owing = true end
  if not overlap or overlap == 'allow' then return 'take' end
  local open = opens[name]
  if not open or open.id == candidate.id then return 'take' end
  local _, open_planned = occurrence(open.id)
  if open.fence == '0' then
    if overlap ~= 'wait' and open_planned < planned and waiting[open.id] then candidate.ends = open.id end
    return 'take'
  end
  if not back then
    if overlap ~= 'skip' and open.parked == '' then return 'park' end
    return 'skip'
  end
  if open_planned > planned and overlap ~= 'wait' then return 'supersede' end
  return 'behind'
end

local pops, due_out, parked_out, flying, behind, superseded = 0, {}, {}, {}, {}, {}
local fence = math.max(last_fence + 1, now_us)
local first_fence = fence
if again then
  for _, candidate in ipairs(candidates) do give(candidate) end
else
  for position, candidate in ipairs(candidates) do
    local id = candidate.id
    local name, planned = occurrence(id)
    local verdict = 'take'
    if candidate.source == 'r' then
      pops = pops + 1
    elseif candidate.source == 'd' then
      due_out[#due_out + 1] = id
    else
      parked_out[candidate.key] = parked_out[candidate.key] or {}
      table.insert(parked_out[candidate.key], id)
    end

    if candidate.body and string.byte(candidate.body, 1) == 0 then
      -- cancelled while in ready; enqueued again for later it has an entry in due besides
      if candidate.body == '\0' then
        forgotten[#forgotten + 1] = id
        verdict = 'gone'
      elseif candidate.source == 'r' then
        redis.call('HSET', JOBS, id, string.sub(candidate.body, 2))
        verdict = 'gone'
      else
        if not popped[id] then redis.call('LREM', READY, 1, id) end
        redis.call('HSET', JOBS, id, string.sub(candidate.body, 2))
      end
    end
    if superseded[id] then
      verdict = 'gone' -- by one that this call took before it
    elseif verdict == 'take' and name then
      verdict = decide(candidate, name, planned)
    end

    if verdict == 'take' then
      candidate.fence = whole(fence)
      candidate.begun = position <= want - ahead
      fence = fence + 1
      flying[#flying + 1] = id
      flying[#flying + 1] = (candidate.begun and '' or '-') .. candidate.fence
      if name then
        if candidate.ends then
          redis.call('ZREM', DUE, candidate.ends)
          superseded[candidate.ends] = true
          forgotten[#forgotten + 1] = candidate.ends
          count(name .. '/superseded', 1)
          local _, ended_planned = occurrence(candidate.ends)
          record(name, ended_planned, 'superseded|' .. whole(now_ms) .. '|' .. whole(now_ms))
        end
        if candidate.overlap and candidate.overlap ~= 'allow' then
          local before = opens[name]
          opens[name] = { id = id, fence = candidate.fence, worker = worker, parked = before and before.parked or '' }
          redis.call('HSET', OPEN, name, id .. '|' .. candidate.fence .. '|' .. worker .. '|' .. opens[name].parked)
        end
        if candidate.fresh then count(name .. '/started', 1) end
      end
      give(candidate)
    elseif verdict == 'park' then
      local open = opens[name]
      open.parked = id
      redis.call('HSET', OPEN, name, open.id .. '|' .. open.fence .. '|' .. open.worker .. '|' .. id)
      if candidate.overlap == 'cancel' then redis.call('PUBLISH', WAKE .. open.worker, 'r' .. open.id) end
    elseif verdict == 'skip' then
      forgotten[#forgotten + 1] = id
      count(name .. '/skipped', 1)
      record(name, planned, 'skipped|' .. whole(now_ms) .. '|' .. whole(now_ms))
    elseif verdict == 'supersede' then
      forgotten[#forgotten + 1] = id
      count(name .. '/superseded', 1)
      record(name, planned, 'superseded|' .. whole(now_ms) .. '|' .. whole(now_ms))
    elseif verdict == 'behind' then
      behind[#behind + 1] = id
      if not candidate.body then redis.call('HSETNX', CRASHES, id, 0) end
    elseif verdict == 'drop' then
      forgotten[#forgotten + 1] = id
      landed(name, id, true)
    end
    if verdict ~= 'gone' and verdict ~= 'drop' and candidate.owing then owe(name) end
    if verdict == 'skip' then unused(name) end
  end
end

-- Out of the lines they stood in, then into those they go to.
if #due_out > 0 then redis.call('ZREM', DUE, unpack(due_out)) end
if pops > 0 then redis.call('LTRIM', READY, pops, -1) end
for key, ids in pairs(parked_out) do redis.call('ZREM', KEYS[15 + key], unpack(ids)) end
if serves > 0 and not paused then
  for i = 1, serves do
    if redis.call('EXISTS', KEYS[15 + i]) == 0 then set_parked(ARGV[at_serve + i], false) end
  end
end
for _, name in ipairs(newly_parked) do set_parked(name, true) end
for _, id in ipairs(behind) do later(id, now_ms + RETRY_BEHIND_MS) end
if #removed > 0 then redis.call('HDEL', INFLIGHT, unpack(removed)) end
if #forgotten > 0 then
  redis.call('HDEL', JOBS, unpack(forgotten))
  redis.call('HDEL', CRASHES, unpack(forgotten))
end
to_front()
if #flying > 0 then
  redis.call('HSET', INFLIGHT, unpack(flying))
  redis.call('HSET', STATE, 'fence', whole(fence - 1))
end
if last and not again or #flying > 0 then
  redis.call('HSET', INFLIGHT, '#', ARGV[2] .. ' ' .. whole(first_fence) .. ' ' .. ARGV[10])
end
if last or #flying > 0 then redis.call('ZADD', SESSIONS, whole(now_ms + ttl_ms), session) end
if not state[4] then redis.call('HSET', STATE, 'layout', LAYOUT) end
if ttl_ms > tonumber(state[6] or 0) then redis.call('HSET', STATE, 'ttl', whole(ttl_ms)) end
save_parked()
for field, n in pairs(counts) do redis.call('HINCRBY', COUNTERS, field, n) end
for _, run in ipairs(recorded) do
  redis.call('XADD', RUNS, 'MAXLEN', '~', 10000, '*',
    'schedule', run[1], 'planned', run[2], 'started', run[3], 'ended', run[4], 'outcome', run[5])
end

----------------------------------------------------------------------------------------------------------- what comes next

local head_due = redis.call('ZRANGE', DUE, 0, 0, 'WITHSCORES')
local next_ms = tonumber(head_due[2] or -1)
local more, place, lapse, lapsed = false, 0, -1, {}
if not paused then
  more = next_ms >= 0 and next_ms <= now_ms or redis.call('LLEN', READY) > 0
end
local asleep = sleep and not more and #taken < 7 * want -- who got all it asked for has no slot free
if more then
  wake_one()
elseif asleep then
  redis.call('ZADD', IDLE, whole(now_ms), worker)
end
if not more and not paused and next_ms >= 0 and (asleep or was_asleep or next_ms == soonest) then
  place = keep_alarm(next_ms, asleep and worker)
end
if place == 0 or paused then next_ms = -1 end
if sleep and not more then
  lapse, lapsed = lapses(SESSIONS, math.max(ttl_ms, tonumber(state[6] or 0)))
end
return { whole(now_us), refused, taken, owed, more and 1 or 0, paused and 1 or 0, whole(next_ms), place, parked_list(), whole(lapse), lapsed }
