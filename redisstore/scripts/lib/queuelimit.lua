-- queuelimit: the limit of a queue, the field limit of …:state: "<running> <starts> <per ms> <flights> <tokens> <refilled, Unix ms>".
-- needs: clock

-- The first three are the configured values (0: no limit of that kind), the others the counts. A token is per ms whole units, so that all numbers
-- are whole: a millisecond adds as many units as there are starts.
--
--               takes: flights + n, tokens - n                     a job waits in ready, or is due
--   open ────────────────────────────────────────► spent: no whole token            waking: now, one worker
--     ▲                                            │  opens at a known instant      waking: alarm for that instant
--     │   tokens come with time, or are given back │
--     ├◄───────────────────────────────────────────┘
--     │                                          ► full: flights >= running
--     └◄─────────────────────────────────────────   opens when a flight ends        waking: none; the script that ends the flight does
--            settled, reaped, counted again
--
-- After every script:
--   - flights is the number of jobs in the hashes …:inflight of the sessions in …:sessions. A script that takes, settles or reaps counts
--     the growth or shrinking of the hash of its session, in the same step; so a repeated call counts nothing.
--   - A take takes no more than running - flights jobs and no more than there are whole tokens. So flights is above running only if the
--     limit was set below the number of running jobs.
--   - A take takes a job ahead only if no starts are counted, and only while flights, with that job, is at most half of running. So
--     jobs that wait for a slot of one worker never occupy more than half of the places, and none for long.
--   - 0 <= tokens <= starts tokens. The refill instant is never later than TIME: if the clock stepped back, it is TIME.
--   - A job that was taken and has not begun (given back, parked, missed, dead at its admission) gives its token back.
--   - If a job waits and a start is possible, a worker was woken for it, or a call returns More to its worker, as without a limit. If it
--     becomes possible at an instant, the keepers of the alarm have that instant. If it depends on the end of a flight, no worker is
--     notified: the script that ends the flight does one or the other.
--   - The gate (lib/gate.lua) is closed: every job is enqueued by enqueue.lua, which reads this field. The layout is one that
--     older versions refuse.

local MAX_LIMIT = 1000000 -- jobs that run, or starts
local MAX_PER_MS = 2592000000 -- 30 days

local LIMIT_OPEN, LIMIT_SPENT, LIMIT_FULL = 1, 2, 3

-- state_of returns whether a job may start (LIMIT_OPEN), no token is left (LIMIT_SPENT), or the maximum number of jobs run (LIMIT_FULL).
local function state_of(limit)
  if limit.running > 0 and limit.flights >= limit.running then return LIMIT_FULL end
  if limit.starts > 0 and limit.tokens < limit.per then return LIMIT_SPENT end
  return LIMIT_OPEN
end

-- read_limit reads the field, as of TIME; nil: it is not there, or it cannot be read. stepped: the clock
-- stepped back since it was written.
local function read_limit(text)
  local running, starts, per, flights, tokens, refilled = string.match(text or '', '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  if not running then return nil end
  for digits in string.gmatch(text, '%d+') do
    if #digits > 16 then return nil end
  end
  local limit = { running = tonumber(running), starts = tonumber(starts), per = tonumber(per), flights = math.min(tonumber(flights), 1e9),
    tokens = tonumber(tokens), refilled = tonumber(refilled), state = LIMIT_OPEN, stepped = false }
  if limit.running > MAX_LIMIT or limit.starts > MAX_LIMIT or limit.per > MAX_PER_MS or limit.starts > 0 and limit.per == 0 then return nil end
  if limit.refilled > now_ms then
    limit.refilled, limit.stepped = now_ms, true
  end
  limit.tokens = math.min(limit.tokens + (now_ms - limit.refilled) * limit.starts, limit.starts * limit.per)
  limit.refilled = now_ms
  limit.state = state_of(limit)
  return limit
end

-- unbegun reports from the kind and amount of a settlement of work.lua whether the handler had not begun.
local function unbegun(kind, amount)
  return kind == 'p' or kind == 'm' or string.sub(amount, -1) == 'u'
end

-- allowance returns how many jobs may be taken if this number of flights end and of tokens come back in the same step.
local function allowance(limit, ending, back)
  local most = math.huge
  if limit.running > 0 then most = limit.running - math.max(limit.flights - ending, 0) end
  if limit.starts > 0 then most = math.min(most, math.floor(limit.tokens / limit.per) + back) end
  return math.max(most, 0)
end

-- room_ahead returns how many jobs may be taken ahead if this number of flights, fewer those that begin, end in the same step.
local function room_ahead(limit, ending)
  return limit.starts == 0 and math.max(math.floor(limit.running / 2) - (limit.flights - ending), 0) or 0
end

-- count_flights records by how much the number of flights has changed, and how many tokens were taken or given back.
local function count_flights(limit, more, taken)
  limit.flights = math.max(limit.flights + more, 0)
  limit.tokens = math.max(math.min(limit.tokens - taken * limit.per, limit.starts * limit.per), 0)
  limit.state = state_of(limit)
end

-- next_start returns the instant of the next start, Unix ms: now_ms if a job may start now; -1 if no job waits, or the start depends on the
-- end of a flight. next_ms: the head of due, -1 none; waiting: jobs are in ready.
local function next_start(limit, next_ms, waiting)
  if limit.state == LIMIT_FULL or not waiting and next_ms < 0 then return -1 end
  local at_ms = now_ms
  if limit.state == LIMIT_SPENT then at_ms = now_ms + math.ceil((limit.per - limit.tokens) / limit.starts) end
  return waiting and at_ms or math.max(at_ms, next_ms)
end

-- limit_text returns the field in its stored form.
local function limit_text(limit)
  return whole(limit.running) .. ' ' .. whole(limit.starts) .. ' ' .. whole(limit.per) .. ' ' .. whole(limit.flights) .. ' ' ..
    whole(limit.tokens) .. ' ' .. whole(limit.refilled)
end
