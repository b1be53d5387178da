-- enqueue.lua: add jobs that run now or later. A call that is sent again, with the same number, adds nothing.
-- Model: ENQUEUE_BODY in models/stale.pml, ENQUEUE_BODY in models/unknown.pml, FILL in models/batch.pml.
-- KEYS[1] …:ready     list  IDs of jobs to run now
-- KEYS[2] …:due       zset  job ID -> instant it is due, Unix ms
-- KEYS[3] …:jobs      hash  job ID -> envelope
-- KEYS[4] …:callers   zset  enqueuer -> instant and number of its last call, see lib/callers.lua; #enqueued: all jobs that this script has added
-- KEYS[5] …:state     hash  paused, layout, large, limit, stale, groups, grules, purge
-- KEYS[6] …:idle      zset  sleeping worker -> instant it went to sleep, Unix ms; see lib/gate.lua
-- KEYS[7] …:stale     zset  IDs in ready that are void -> since when, Unix ms; see lib/stale.lua
-- KEYS[8] …:once      zset  job ID -> until when it is not added again, Unix ms
-- KEYS[9...] …:line      zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua: these six only if there are any, or KEYS[15]
-- KEYS[10...] …:places   hash  job ID -> "<place> <group>"
-- KEYS[11...] …:turns    zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[12...] …:groups   hash  group -> its flights, tag and starts
-- KEYS[13...] …:grules   hash  group -> its rule and pause
-- KEYS[14...] …:opens    zset  group -> instant of its next start, Unix ms
-- KEYS[15...] …:last  hash  schedule -> its last outcome, see lib/history.lua; its manual runs, see lib/manual.lua: only if there are any
-- KEYS[16...] …:batches  hash  batch -> its counts, see lib/members.lua: these two come last, only if the jobs are members of a batch
-- KEYS[17...] …:reports  zset  batch -> instant from which its counts are to be reported, Unix ms
-- ARGV[1] the caller, a name used by one enqueuer only; items of a batch: empty
-- ARGV[2] number of the call, one more than the caller's last
-- ARGV[3] prefix of the wake-up channels
-- ARGV[4] 1 if an envelope is longer than 2 KiB: takes must then read lengths first
-- ARGV[5] how many of the jobs are ordinary; members of a batch: then a tab, the batch, a tab, and for items of the batch their positions, ascending, as
-- ranges "<first>-<last>" with a blank after each: those up to the position that the partition has taken are passed over; at the first that is refused the call stops. Ordinary: they run now, with an ID that the enqueuer generated. They come first, two values each: ID,
-- envelope. Then the others, three values each: ID, when, envelope. when: empty now, +n in n us, @n at Unix ms n. A leading o: the
-- ID is the caller's own. A leading u<ms> and a blank: also, it is not added within that time after the acceptance of the last such job, and a
-- record that bars it for longer is shortened to that. A tab, a number, a tab and a schedule at the end: it is a manual run of that schedule, which
-- is refused if the schedule has that many unfinished runs (0: any number). A line end and a number at the end: it expires that many ms after it is
-- due. A vertical tab and a group at the end: it belongs to that group, and is refused if as many of its jobs wait as its rule allows
-- Returns time (us), the caller's score in callers (0 if its next call must use this script too: the queue is paused or has a limit, or this call
-- was completed before), then the positions, among the others, of the jobs that exist already, or did recently; these do not change; negative
-- positions are those of jobs whose group is full; with MAX_ITEMS before them, of manual runs whose schedule has too many unfinished runs.
-- Members of a batch: before the positions, a text: how many items were passed over, a blank, 1 if nothing was added because the partition takes
-- nothing of the batch any more, else 0, a blank, and the counts, as in …:batches.
-- An additional 0: the partition is new, or was when the call was completed before: the caller must register the queue, see delete_queue.lua.
local READY, DUE, JOBS, CALLERS, STATE, IDLE, STALE, ONCE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local ARGV = ARGV -- a local is found faster than a global
-- uses: limits callers clock layout

local state = KEYS[9] and redis.call('HMGET', STATE, 'paused', 'layout', 'limit', 'stale', 'groups', 'grules', 'purge') or
  redis.call('HMGET', STATE, 'paused', 'layout', 'limit', 'stale')
local refusal = newer(state[2])
if refusal then return refusal end

local calls = redis.call('ZMSCORE', CALLERS, ARGV[1], '#enqueued')
local last, number = calls[1], tonumber(ARGV[2]) % ROUND
local ahead = last and (number - tonumber(last) % ROUND) % ROUND or 1
if ahead >= ROUND / 2 then
  return redis.error_reply('CHIMENUMBER call ' .. ARGV[2] .. ' comes after a later one of the same caller')
end
local again = ahead == 0
local since_s = last and math.max(now_s, math.floor(tonumber(last) / ROUND)) or now_s -- never earlier, or a late copy might pass enqueue_one.lua

local ordinary = ARGV[5] == '1' and 1 or tonumber(ARGV[5])
local fill -- nil: the jobs are no members of a batch
if not ordinary then
  local function pieces()
    -- uses: members
    local BATCHES, REPORTS = #KEYS - 1, #KEYS
    local n, batch, positions = string.match(ARGV[5], '^(%d+)\t([^\t]*)\t(.*)$')
    local c = counts_of(redis.call('HGET', KEYS[BATCHES], batch))
    local due = redis.call('ZMSCORE', KEYS[REPORTS], batch)[1]
    fill = { ordinary = tonumber(n), n = 0, passed = 0, existing = 0 } -- n: how many have positions, all or none of them
    local runs = {} -- of positions: two values each, the first and the last one
    for first, last in string.gmatch(positions, '(%d+)%-(%d+) ') do
      first, last = tonumber(first), tonumber(last)
      runs[#runs + 1], runs[#runs + 2] = first, last
      fill.n, fill.passed = fill.n + last - first + 1, fill.passed + math.max(math.min(last, c.position) - first + 1, 0)
    end
    -- position_of returns the position of an item, 0: it has none
    local function position_of(i)
      for k = 1, i > 0 and #runs or 0, 2 do
        if i <= runs[k + 1] - runs[k] + 1 then return runs[k] + i - 1 end
        i = i - (runs[k + 1] - runs[k] + 1)
      end
      return 0
    end
    local left = math.max(fill.n, 1) - fill.passed
    fill.closed = not again and left > 0 and (string.find(c.flags, 'x', 1, true) or fill.n > 0 and c.flags ~= '-') and true or false
    fill.text = function() return whole(fill.passed) .. (fill.closed and ' 1 ' or ' 0 ') .. counts_text(c) end
    -- save counts the members that were added. last: the index of the last item that was not refused; nil: that of the call
    fill.save = function(added, last)
      c.added, c.existing, c.position = c.added + added, c.existing + fill.existing, math.max(c.position, position_of(last or fill.n))
      c.version = math.max(c.version + 1, now_us)
      redis.call('HSET', KEYS[BATCHES], batch, counts_text(c))
      redis.call('ZADD', KEYS[REPORTS], whole(report_at(c, due)), batch)
      save_head(KEYS[BATCHES], KEYS[REPORTS], STATE)
    end
  end
  pieces()
  ordinary = fill.ordinary
end
local others = 5 + 2 * ordinary -- ARGV[others + 1] is the first of them
local answer = { now_us, 0, fill and fill.text() }
if fill and (fill.closed or fill.n > 0 and fill.passed == fill.n) then return answer end
local skipped, begin = 0, others -- how many of the first jobs are not added; ARGV[begin + 1] is the first of the others that are added
local stopped -- the index of the job at which the call stops; nil: it does not
if fill then skipped, begin = fill.passed, others + 3 * math.max(fill.passed - ordinary, 0) end
local ready, earliest, first = {}, nil, nil
local NONE = {} -- is never written: what a call of ordinary jobs alone, the most frequent, has of all lists but ready
local bodies, due = NONE, NONE
local sealed, over = NONE, NONE -- instants and IDs for …:once; IDs there whose time is over
local lowered = NONE -- instants and IDs there that are further ahead than their calls bar
local accept, save_accepted -- accept counts a manual run, unless its schedule has too many; functions of the piece history
local FULL, UNFINISHED = 1, 2 -- why a job is refused
local refused, n_refused = NONE, 0 -- position in the call -> why this job is refused; how many are
local members, save_refusals = 0, nil -- members: of …:callers, that save_refusals writes; a function of the piece refused
local revived = NONE -- IDs that are in ready, void: they keep their old places
local group_of, names = NONE, NONE -- item -> its group; the groups
local grouped -- their table, see lib/groups.lua; tune: writes what has changed for them. nil: no item has a group
local lined, placed, tune = NONE, NONE, nil -- members that join line; IDs and entries of places
local pieces, start -- of the limit of the queue, and of groups; a function of the piece queuelimit
if state[3] or KEYS[9] then
  pieces = function(names, joined)
    -- uses: queuelimit
    start = next_start
    if not names then return read_limit(state[3]) end
    local function groups()
      -- uses: starts line groups
      grouped = open_groups(state[5], state[6], state[7])
      read_groups(grouped, names, KEYS[11], KEYS[12], KEYS[13], joined)
      grouped.read_all = function() read_groups(grouped, names, KEYS[11], KEYS[12], KEYS[13]) end
      check_groups(KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[14])
      grouped.enter = function(group, id, now)
        if now then return enter_line(grouped, group, id) end
        return NO_PLACE .. ' ' .. group
      end
      -- enter_all accepts all other jobs: they run now, have IDs that the enqueuer generated, and none of them may be refused
      grouped.enter_all = function()
        local n, of = 0, grouped.of
        for i = 1, #names do
          local at, group = others + 3 * i, names[i]
          local id, first, stem, digit = ARGV[at - 2], n + 1, draw_place(grouped)
          n = n + 2
          bodies[first], bodies[n], lined[first], placed[first] = id, ARGV[at], '0', id
          placed[n], lined[n] = stem .. digit .. ' ' .. group, group .. '\t' .. stem .. digit .. '\t' .. id -- as enter_line
          local g = of[group]
          if g then g.has = true end -- else it remains in turns
        end
      end
      tune = function()
        for _, g in ipairs(grouped.list) do g.idle = g.stored ~= nil or not g.has end -- these remain as they are
        tune_groups(grouped, STATE, KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[14])
      end
    end
    groups()
  end
end

for i = skipped + 1, ordinary do ready[i - skipped] = ARGV[4 + 2 * i] end

if KEYS[15] and not fill then
  -- uses: instant seconds strings definition history manual
  local runs, schedules = {}, {}
  for i = begin + 1, #ARGV, 3 do
    local schedule = match(ARGV[i + 1], '\t%d+\t([^\n\v]*)')
    if schedule then runs[#runs + 1], schedules[#schedules + 1] = ARGV[i], schedule end
  end
  local past = read_past(KEYS[15], again and {} or schedules)
  read_manual(past, KEYS[15], again and {} or runs)
  accept = function(id, schedule, most)
    local known = most > 0 and add_unfinished(past, schedule, instant(now_s), 0)
    if known and known.unfinished >= most then return false end
    begin_manual(past, id, schedule, instant(now_s), 'm')
    return true
  end
  save_accepted = function()
    save_manual(past, KEYS[15])
    save_last(past, KEYS[15])
  end
end

if #ARGV > begin then
  bodies, due, sealed, lowered, refused, revived, group_of, names, lined, placed = {}, {}, {}, {}, {}, {}, {}, {}, {}, {}
  local function refusals()
    -- uses: refused
    local n = ordinary + (#ARGV - others) / 3
    if again then refused = read_refused(CALLERS, ARGV[1], tonumber(last), n) end
    members = 1 + refused_members(n)
    save_refusals = function(score) save_refused(CALLERS, ARGV[1], score, n, refused) end
  end
  if again and KEYS[9] then refusals() end
  -- waits returns how many jobs of a group are in line.
  local function waits(group) return redis.call('ZLEXCOUNT', KEYS[9], '[' .. group .. '\t', '(' .. group .. '\n') end
  local owned, onces, stored, void, barred = {}, {}, {}, {}, {} -- onces: the owned ones that must not be added again soon
  local usual = KEYS[9] and not again and not fill -- all of them run now, have a generated ID and a group, and none may be refused
  local byte, sub, n_names = string.byte, string.sub, 0
  for i = begin + 1, #ARGV, 3 do
    local when, group = ARGV[i + 1], nil
    local first = byte(when)
    if first == 11 then -- a vertical tab
      group = sub(when, 2)
    else
      if first == 111 or first == 117 then owned[#owned + 1] = ARGV[i] end -- o, u
      if first == 117 then onces[#onces + 1] = ARGV[i] end
      usual, group = false, KEYS[9] and string.match(when, '\v(.*)$')
    end
    if group then
      n_names = n_names + 1
      names[n_names] = group
    end
  end
  if names[1] and not again then
    pieces(names, usual)
    for _, g in ipairs(usual and grouped.list or {}) do usual = usual and g.rule.waiting == 0 end
    if usual then grouped.enter_all() else grouped.read_all() end
  end
  for i = begin + 1, usual and 0 or names[1] and #ARGV or 0, 3 do group_of[i] = string.match(ARGV[i + 1], '\v(.*)$') end
  if #owned > 0 and not again then
    for i, body in ipairs(redis.call('HMGET', JOBS, unpack(owned))) do stored[owned[i]] = body end
    for i, until_ms in ipairs(#onces > 0 and redis.call('ZMSCORE', ONCE, unpack(onces)) or {}) do
      if until_ms and tonumber(until_ms) > now_ms then barred[onces[i]] = tonumber(until_ms) end
    end
    if state[4] then
      for i, since in ipairs(redis.call('ZMSCORE', STALE, unpack(owned))) do void[owned[i]] = since end
    end
  end
  for i = usual and #ARGV + 1 or begin + 1, #ARGV, 3 do
    local id, when, body, schedule, most, expire_ms = ARGV[i], ARGV[i + 1], ARGV[i + 2], nil, nil, nil
    local group = group_of[i]
    if group then when = string.sub(when, 1, -2 - #group) end
    if string.find(when, '\n', 1, true) then when, expire_ms = string.match(when, '^(.*)\n(%d+)$') end
    if KEYS[15] and string.find(when, '\t', 1, true) then when, most, schedule = string.match(when, '^(.-)\t(%d+)\t(.*)$') end
    local own, once_ms = string.sub(when, 1, 1) == 'o', nil
    if own then
      when = string.sub(when, 2)
    elseif string.sub(when, 1, 1) == 'u' then
      once_ms, when = string.match(when, '^u(%d+) (.*)$')
      own = true
    end
    local position = (i - others + 2) / 3 -- among the others
    local full = not again and group and when == '' and grouped.of[group].rule.waiting > 0 and
      (grouped.of[group].waits or waits(group)) >= grouped.of[group].rule.waiting
    if stopped then
      -- it is sent again
    elseif again and refused[ordinary + position] then
      answer[#answer + 1] = -position - (refused[ordinary + position] == UNFINISHED and MAX_ITEMS or 0)
    elseif own and (again or stored[id] or once_ms and barred[id]) then
      answer[#answer + 1] = position
      if fill then fill.existing = fill.existing + 1 end
      local until_ms = once_ms and barred[id]
      if until_ms and until_ms > now_ms + tonumber(once_ms) then -- it was written when the clock was ahead, or with a longer time
        barred[id] = now_ms + tonumber(once_ms)
        lowered[#lowered + 1], lowered[#lowered + 2] = whole(barred[id]), id
      end
    elseif full then
      answer[#answer + 1] = -position
      if fill and fill.n > 0 then stopped = ordinary + position else n_refused, refused[ordinary + position] = n_refused + 1, FULL end
    elseif not again and schedule and not accept(id, schedule, tonumber(most)) then
      answer[#answer + 1] = -position - MAX_ITEMS
      n_refused, refused[ordinary + position] = n_refused + 1, UNFINISHED
    elseif not again then
      stored[id] = body
      if group then
        local g = grouped.of[group]
        if when == '' and g.rule.waiting > 0 then g.waits = (g.waits or waits(group)) + 1 end
        local entry, member = grouped.enter(group, id, when == '')
        placed[#placed + 1], placed[#placed + 2] = id, entry
        if member then
          lined[#lined + 1], lined[#lined + 2] = '0', member
          g.has = true
        end
      end
      if group and when == '' then
        -- it is in line
      elseif when == '' then
        local list = void[id] and revived or ready
        list[#list + 1] = id
      else
        local at = math.max(tonumber(string.sub(when, 2)), 0) -- before 1970 means now, as every instant in the past
        if string.sub(when, 1, 1) == '+' then at = math.ceil((now_us + at) / 1000) end
        due[#due + 1] = whole(at)
        due[#due + 1] = id
        if not earliest or at < earliest then earliest = at end
        if expire_ms then expire_ms = math.max(at, now_ms) + expire_ms - now_ms end
      end
      if expire_ms then
        -- uses: expiry
        body = expires_at(body, now_ms + expire_ms)
      end
      bodies[#bodies + 1] = id
      bodies[#bodies + 1] = body
      if once_ms then sealed[#sealed + 1], sealed[#sealed + 2] = whole(now_ms + tonumber(once_ms)), id end
    end
  end
  if n_refused > 0 then refusals() end
  if #sealed > 0 then
    -- uses: over
    over = over_in(ONCE, #sealed / 2)
  end
  if earliest then first = redis.call('ZRANGE', DUE, '0', '0', 'WITHSCORES')[2] end
end
if again or state[2] ~= LAYOUT then answer[#answer + 1] = 0 end
if again then return answer end
-- a new caller, and a refusal, removes some old ones, so that they do not accumulate where no worker sweeps
local forgotten = last and n_refused == 0 and NONE or redis.call('ZRANGEBYSCORE', CALLERS, OLDEST_CALLER, whole((now_s - CALLER_S) * ROUND), 'LIMIT', '0', whole(100 + 2 * members))
redis.call('HGET', JOBS, ARGV[6]) -- read, so that a key of a wrong type stops the call here
local head = redis.call('ZRANGE', IDLE, '0', '0')[1]

local added = math.max(ordinary - skipped, 0) + #bodies / 2
local n_ready = #ready > 0 and redis.call('RPUSH', READY, unpack(ready)) -- the first write, because ready was not read
if #revived > 0 then redis.call('ZREM', STALE, unpack(revived)) end
if ordinary > skipped then redis.call('HSET', JOBS, unpack(ARGV, 6 + 2 * skipped, others)) end
if #bodies > 0 then redis.call('HSET', JOBS, unpack(bodies)) end
if #due > 0 then redis.call('ZADD', DUE, unpack(due)) end
if #over > 0 then redis.call('ZREM', ONCE, unpack(over)) end
if #lowered > 0 then redis.call('ZADD', ONCE, unpack(lowered)) end
if #sealed > 0 then redis.call('ZADD', ONCE, unpack(sealed)) end
if save_accepted then save_accepted() end
if #placed > 0 then
  redis.call('HSET', KEYS[10], unpack(placed))
  if #lined > 0 then redis.call('ZADD', KEYS[9], unpack(lined)) end
end
if tune then tune() end
local score = since_s * ROUND + number
if fill then
  fill.save(added, stopped and stopped - 1)
  answer[3] = fill.text()
end
if #forgotten > 0 then redis.call('ZREM', CALLERS, unpack(forgotten)) end -- before the caller is written, which may be one of them
if ARGV[1] == '' then
  redis.call('ZADD', CALLERS, whole((calls[2] or 0) + added), '#enqueued')
else
  redis.call('ZADD', CALLERS, whole(score), ARGV[1], whole((calls[2] or 0) + added), '#enqueued')
end
if n_refused > 0 then save_refusals(score) end
if state[2] ~= LAYOUT then redis.call('HSET', STATE, 'layout', LAYOUT) end
if not state[2] then -- delete_queue.lua lets these expire
  redis.call('PERSIST', CALLERS)
  redis.call('PERSIST', IDLE)
end
if ARGV[4] == '1' then redis.call('HSETNX', STATE, 'large', 1) end
if not state[1] then
  -- uses: gate
  local wakes, alarm_ms = #ready + #revived > 0, earliest and (not first or earliest < tonumber(first)) and earliest
  wakes = wakes or #lined > 0 and grouped.joined
  for _, g in ipairs(#lined > 0 and grouped.list or NONE) do wakes = wakes or g.where == 't' end
  if grouped and grouped.alarmed then
    local opens_ms = math.ceil(tonumber(redis.call('ZRANGE', KEYS[14], '0', '0', 'WITHSCORES')[2]))
    if not alarm_ms or opens_ms < alarm_ms then alarm_ms = opens_ms end
  end
  if state[3] then
    local limit = pieces()
    if limit and (wakes or alarm_ms) then
      local next_ms = start(limit, alarm_ms or -1, wakes)
      -- if others wait already, the alarm for the next start remains
      alarm_ms = next_ms > now_ms and not (wakes and n_ready and n_ready > #ready) and next_ms
      wakes = next_ms == now_ms
    end
  else
    answer[2] = score
    if head == CLOSED then redis.call('ZREM', IDLE, CLOSED) end -- the queue was deleted, and is in use again
  end
  if wakes and head then
    -- uses: wake
    wake_one(IDLE, ARGV[3])
  end
  if alarm_ms then
    -- uses: alarm
    keep_alarm(IDLE, ARGV[3], alarm_ms)
  end
end
return answer
