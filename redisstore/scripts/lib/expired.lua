-- expired: parked jobs whose retention has passed, and how they are given up.
-- needs: strings limits clock counters definition envelope flight parked history manual

-- Such a job stands in a list of parked ones with the instant since when it is parked. What follows its death, its OnDeath, only a program
-- can read: in its envelope, or, of an occurrence that has none, in the definition of its schedule.
--
--   parked ──the retention passes──► expired ──nothing follows─────────────────► dead                                 sweep.lua
--                                       ├─────a program has read what follows──► dead, and what follows is in ready  bury.lua
--                                       └─────a newer version wrote it, and twice the retention passes──► dead       sweep.lua
--
-- What holds after every script: a job that is given up is in no list of parked ones. What is no longer in the list, was parked anew, or is
-- not as the program has read it is left alone. So what follows is added once, whoever comes first and however often a call is sent; and a
-- job that somebody has requeued, run, changed or deleted meanwhile does not die.
local NO_WORKER = 'no worker came that can run it' -- the last error of such a job
local ENVELOPE, FORM = 1, 2 -- the newest version of an envelope and form of a definition that are known

-- what_follows says whether a job may follow the death of an expired one: false, none does; 'asks', a program is to read that; 'waits', a newer
-- version wrote it, and can. body: its envelope; definition: that of its schedule, if it is an occurrence without one.
local function what_follows(body, definition)
  if body then
    if (byte(body, 1) or 0) > ENVELOPE then return 'waits' end
    return find(body, '\161o', 1, true) and 'asks' -- the key o of a msgpack map: see Details of the Go package wire
  end
  local form = match(definition or '', '^{"revision":%d+,"generation":%d+,"state":"[^"]+","created":"[^"]+","overlap":"%a+","version":(%d+),')
  if tonumber(form or 0) > FORM then return 'waits' end
  return find(definition or '', '"onDeath"', 1, true) and 'asks'
end

-- read_expired reads what …:last has of the schedules of expired jobs. last: the key. Returns the table past of the piece history, in which
-- died notes what the deaths add to counters, and heard the jobs for which somebody may wait.
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

-- with_reason returns an envelope with NO_WORKER as its last error, and without a stack; nil: nobody can read it. Its other elements stay as they are.
local function with_reason(body)
  local fields, at, behind = (byte(body, 2) or 0) - 0x90, 3, nil
  if byte(body, 1) ~= ENVELOPE or fields < 3 or fields > 10 then return nil end
  for _ = 1, math.min(fields, 7) do
    at = after(body, at)
    if not at or at > #body + 1 then return nil end
  end
  behind = at
  for _ = 8, math.min(fields, 9) do -- the last error and the stack that it has
    behind = after(body, behind)
    if not behind or behind > #body + 1 then return nil end
  end
  -- attempts, timeout, failures and schedule come before the last error: those that are left out are 0, and empty
  local missing = sub('\0\0\0\160', math.min(fields, 7) - 2)
  local error_text = string.char(0xa0 + #NO_WORKER) .. NO_WORKER -- shorter than 32 bytes
  local stack = fields > 9 and '\160' or ''
  return string.char(ENVELOPE, 0x90 + math.max(fields == 9 and 8 or fields, 8)) .. sub(body, 3, at - 1) .. missing .. error_text .. stack .. sub(body, behind)
end

-- give_up moves an expired job from the list of parked ones to the dead. text: its envelope or definition, if there is one; entry: its
-- entry in the list; list, dead, crashes: the keys.
local function give_up(past, id, text, entry, list, dead, crashes)
  redis.call('ZADD', dead, whole(now_ms), id)
  redis.call('HDEL', crashes, id)
  past.died[DIED] = (past.died[DIED] or 0) + 1
  if text and (find(text, '\161k', 1, true) or find(text, '"keep":', 1, true)) then past.heard[#past.heard + 1] = id end -- Keep, and rarely another
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

-- save_expired writes what the deaths have changed of schedules, counts them, and tells whoever waits for such a job with Keep on the channel that
-- is called channel and its ID. last, history, counters: the keys.
local function save_expired(past, last, history, counters, channel)
  save_manual(past, last)
  save_past(past, last, history)
  for field, n in pairs(past.died) do redis.call('HINCRBY', counters, field, whole(n)) end
  for _, id in ipairs(past.heard) do redis.call('PUBLISH', channel .. id, 'e') end
end

-- save_list notes in unhandled since when the list name has jobs, once some have left it. list, unhandled, state: the keys.
local function save_list(list, name, unhandled, state)
  -- read after write: what is left is known only now
  local first = redis.call('ZRANGE', list, '0', '0', 'WITHSCORES')
  if first[1] then
    redis.call('ZADD', unhandled, first[2], name)
  else
    unlist(unhandled, state, name)
  end
end
