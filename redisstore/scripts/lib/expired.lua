-- expired: parked jobs whose retention has passed, and how they become dead.
-- needs: strings limits clock counters definition envelope flight parked history manual

-- Such a job is in a list of parked jobs with the instant since which it is parked. The job that follows its death, its OnDeath, can only be
-- read by a program: from its envelope, or, for an occurrence without one, from the definition of its schedule.
--
--   parked ──the retention passes──► expired ──nothing follows─────────────────► dead                                 sweep.lua
--                                       ├─────a program has read what follows──► dead, and what follows is in ready  bury.lua
--                                       └─────a newer version wrote it, and twice the retention passes──► dead       sweep.lua
--
-- After every script: a dead job is in no list of parked jobs. A job is skipped if it has left the list, was parked again, or
-- has changed since the program read it. So the job that follows is added once, with any number of processes and repeated calls; and a
-- job that was requeued, run, changed or deleted meanwhile does not die.
local NO_WORKER = 'no worker came that can run it' -- the last error of such a job
local FORM = 4 -- the newest form of a definition that is known

-- what_follows returns whether a job may follow the death of an expired one: false, none follows; 'asks', a program must read it; 'waits', a
-- newer version wrote it, and can read it. body: its envelope; definition: its schedule's, if it is an occurrence without an envelope.
local function what_follows(body, definition)
  if body then
    if (byte(body, 1) or 0) > 0 and not readable(body) then return 'waits' end
    return find(body, '\161o', 1, true) and 'asks' -- the key o of a msgpack map: see Details of the Go package wire
  end
  local form = match(definition or '', '^{"revision":%d+,"generation":%d+,"state":"[^"]+","created":"[^"]+","overlap":"%a+","version":(%d+),')
  if tonumber(form or 0) > FORM then return 'waits' end
  return find(definition or '', '"onDeath"', 1, true) and 'asks'
end

-- read_expired reads the entries of …:last for the schedules of expired jobs. last: the key. Returns the table past of the piece history, in which
-- died records what the deaths add to counters, and heard lists the jobs that a caller may wait for.
local function read_expired(last, ids)
  local schedules, others = {}, {}
  for _, id in ipairs(ids) do
    local name = occurrence(id)
    if name then schedules[#schedules + 1] = name else others[#others + 1] = id end
  end
  local past = read_past(last, schedules)
  read_manual(past, last, others)
  past.died, past.heard = {}, {}
  return past
end

-- id_in returns the ID of the job with this entry in the list name.
local function id_in(name, entry)
  return name == SHARED and match(entry, '\t(.*)$') or entry
end

-- with_reason returns an envelope with NO_WORKER as its last error, and without a stack; nil: it cannot be read. Its other elements do not change,
-- but the job does not expire any more: see the piece expiry.
local function with_reason(body)
  local fields, at, behind = (byte(body, 2) or 0) - 0x90, 3, nil
  if not readable(body) or fields < 3 or fields > 11 then return nil end
  for _ = 1, math.min(fields, 7) do
    at = after(body, at)
    if not at or at > #body + 1 then return nil end
  end
  behind = at
  for _ = 8, math.min(fields, 9) do -- the present last error and stack
    behind = after(body, behind)
    if not behind or behind > #body + 1 then return nil end
  end
  -- attempts, timeout, failures and schedule come before the last error: omitted ones are 0, and empty
  local missing = sub('\0\0\0\160', math.min(fields, 7) - 2)
  local error_text = string.char(0xa0 + #NO_WORKER) .. NO_WORKER -- shorter than 32 bytes
  local stack = fields > 9 and '\160' or ''
  local version = byte(body, 1) < 16 and 1 or 17 -- sealed
  return string.char(version, 0x90 + math.max(fields == 9 and 8 or fields, 8)) .. sub(body, 3, at - 1) .. missing .. error_text .. stack .. sub(body, behind)
end

-- give_up moves an expired job from the list of parked jobs to the dead jobs. text: its envelope or definition, if it exists; entry: its
-- entry in the list; list, dead, crashes: the keys.
local function give_up(past, id, text, entry, list, dead, crashes)
  redis.call('ZADD', dead, whole(now_ms), id)
  redis.call('HDEL', crashes, id)
  past.died[DIED] = (past.died[DIED] or 0) + 1
  if text and (find(text, '\161k', 1, true) or find(text, '"keep":', 1, true)) then past.heard[#past.heard + 1] = id end -- Keep, and sometimes another
  local schedule, planned = occurrence(id)
  local run = 'dead|' .. whole(now_ms) .. '|' .. whole(now_ms) .. '|0|0||' .. NO_WORKER .. '\t'
  if not schedule then
    run_manual(past, id, run)
    end_manual(past, id)
  elseif add_unfinished(past, schedule, planned, -1) then
    past.died[schedule .. DIED] = (past.died[schedule .. DIED] or 0) + 1
    add_run(past, schedule, planned, run)
  end
  redis.call('ZREM', list, entry)
end

-- save_expired writes what the deaths have changed in schedules and counts them. It notifies callers that wait for such a job with Keep on the
-- channel whose name is channel and the ID. last, history, counters: the keys.
local function save_expired(past, last, history, counters, channel)
  save_manual(past, last)
  save_past(past, last, history)
  for field, n in pairs(past.died) do redis.call('HINCRBY', counters, field, whole(n)) end
  for _, id in ipairs(past.heard) do redis.call('PUBLISH', channel .. id, 'e') end
end

-- save_list updates in unhandled since when the list name has jobs, after some have left it. list, unhandled, state: the keys.
local function save_list(list, name, unhandled, state)
  -- read after write: the rest of the list is known only now
  local first = redis.call('ZRANGE', list, '0', '0', 'WITHSCORES')
  if first[1] then
    redis.call('ZADD', unhandled, first[2], name)
  else
    unlist(unhandled, state, name)
  end
end
