-- long: the long way of work.lua, for whatever is no ordinary job that is finished, begun or taken: other settlements, occurrences,
-- and the same call again. Reads what else it needs, answers a call that is repeated, and defines settle, meet and carry_out.
-- Needs the pieces definition and flight, and work.lua's variables.
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
  if not crashed then redis.call('HSET', STATE, 'crashed', '1') end
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
    if #body > LARGE_BYTES and not large then
      large = '1'
      redis.call('HSET', STATE, 'large', large)
    end
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
