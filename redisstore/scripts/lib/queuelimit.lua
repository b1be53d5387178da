-- queuelimit: the limit of a queue, the field limit of …:state: "<running> <starts> <per ms> <flights>", and for each pair of starts, the
-- oldest first, " <instant of its last start, Unix us>:<time from its first to its last start, us>:<how many>". Layouts before 4 have "<running>
-- <starts> <per ms> <flights> <tokens> <refilled, Unix ms>" of a token bucket, which is read as one pair.
-- needs: limits clock

-- The first three are the configured values (0: no limit of that kind), the others the counts.
--
--               takes: flights + n, a pair with n more               a job waits in ready, or is due
--   open ────────────────────────────────────────► spent: as many as starts      waking: now, one worker
--     ▲                                            │  opens at a known instant     waking: alarm for that instant
--     │   a pair ends, or starts are given back    │
--     ├◄───────────────────────────────────────────┘
--     │                                          ► full: flights >= running
--     └◄─────────────────────────────────────────   opens when a flight ends       waking: none; the script that ends the flight does
--            settled, reaped, counted again
--   unreadable   as full; opens when the limit is set again
--
-- After every script:
--   - flights is the number of jobs in the hashes …:inflight of the sessions in …:sessions. A script that takes, settles or reaps counts
--     the growth or shrinking of the hash of its session, in the same step; so a repeated call counts nothing.
--   - A take takes no more than running - flights jobs. So flights is above running only if the limit was set below the number of running jobs.
--   - A pair counts all its starts until more than per has passed since its last one, because TIME is rounded down to a microsecond. A take begins no
--     more jobs than starts minus the starts that count. So within any per no more than starts jobs start. A start joins a pair only if it comes
--     within per / 32 of the pair's first start, and only if more than 32 starts are allowed. So there are about 32 pairs at most, and they count a
--     start for at most per / 32 too long.
--   - A take takes a job ahead only if no starts are counted, and only while flights, with that job, is at most half of running. So
--     jobs that wait for a slot of one worker never occupy more than half of the places, and none for long.
--   - No instant of a pair is later than TIME: if the clock stepped back, it is TIME.
--   - If a job was taken and has not begun (given back, parked, missed, expired, dead at its admission), its start is given back: it is removed from
--     the oldest pair, which ends first. So never too few starts count.
--   - If a job waits and a start is possible, a worker was woken for it, or a call returns More to its worker, as without a limit. If it
--     becomes possible at an instant, the keepers of the alarm have that instant. If it depends on the end of a flight, no worker is
--     notified: the script that ends the flight does one or the other.
--   - A field that cannot be read is never written, except by setting the limit again. Until then no job is taken, because the limit may be the only
--     protection of a third party.
--   - The gate (lib/gate.lua) is closed: every job is enqueued by enqueue.lua, which reads this field. The layout is one that
--     older versions refuse.

local MAX_LIMIT = 1000000 -- jobs that run, or starts
local MAX_PER_MS = 2592000000 -- 30 days
local PAIRS = 32 -- about the maximum number of pairs

local LIMIT_OPEN, LIMIT_SPENT, LIMIT_FULL = 1, 2, 3

-- state_of returns whether a job may start (LIMIT_OPEN), all starts are used (LIMIT_SPENT), or the maximum number of jobs run (LIMIT_FULL).
local function state_of(limit)
  if limit.unreadable or limit.running > 0 and limit.flights >= limit.running then return LIMIT_FULL end
  if limit.starts > 0 and limit.used >= limit.starts then return LIMIT_SPENT end
  return LIMIT_OPEN
end

-- add_starts adds a pair as it was stored, if it counts; an instant later than TIME is TIME. Pairs come in the order of their ends.
local function add_starts(limit, last_us, span_us, n)
  if last_us > now_us then
    span_us = math.max(span_us - (last_us - now_us), 0)
    last_us, limit.stepped = now_us, true
  end
  if n > 0 and now_us - last_us <= limit.per * 1000 then
    limit.pairs[#limit.pairs + 1] = { last = last_us, span = span_us, n = n }
    limit.used = limit.used + n
  end
end

-- new_limit returns a limit of these configured values, which nothing uses but the pairs of a text, each behind a blank; nil: the text cannot be read.
local function new_limit(running, starts, per, text)
  local limit = { running = running, starts = starts, per = per, flights = 0, pairs = {}, used = 0, state = LIMIT_OPEN, stepped = false }
  local at = 1
  while text and at <= #text do
    local last, span, n, behind = string.match(text, '^ (%d+):(%d+):(%d+)()', at)
    if not last or #last > 16 or #span > 13 or #n > 7 then return nil end
    add_starts(limit, tonumber(last), tonumber(span), tonumber(n))
    at = behind
  end
  limit.state = state_of(limit)
  return limit
end

-- read_limit reads the field, as of TIME; nil: it is not there. If it cannot be read, the result has the field unreadable. stepped: the
-- clock stepped back since it was written.
local function read_limit(text)
  if not text then return nil end
  local unreadable = { unreadable = text, running = 0, starts = 0, per = 0, flights = 0, pairs = {}, used = 0, state = LIMIT_FULL, stepped = false }
  local running, starts, per, flights, rest = string.match(text, '^(%d+) (%d+) (%d+) (%d+)(.*)$')
  if not running or #running > 7 or #starts > 7 or #per > 10 or #flights > 16 then return unreadable end
  local tokens, refilled = string.match(rest, '^ (%d+) (%d+)$')
  local limit = new_limit(tonumber(running), tonumber(starts), tonumber(per), not tokens and rest)
  if not limit or limit.running > MAX_LIMIT or limit.starts > MAX_LIMIT or limit.per > MAX_PER_MS then return unreadable end
  if limit.starts > 0 and limit.per == 0 then return unreadable end
  limit.flights = math.min(tonumber(flights), 1e9)
  if tokens then
    if #tokens > 16 or #refilled > 16 then return unreadable end
    if limit.starts > 0 then
      add_starts(limit, tonumber(refilled) * 1000, 0, limit.starts - math.min(math.floor(tonumber(tokens) / limit.per), limit.starts))
    end
  end
  limit.state = state_of(limit)
  return limit
end

-- gives_back reports from the kind, the amount and the fence of a settlement of work.lua whether it gives a start back: the handler had not
-- begun, and a pair counts its start. The fence is about the instant at which the job was taken, Unix us. It also decides for a job that was taken before
-- there was a limit, because a flight does not record whether its take counted a start: such a fence is older than each pair, as a take of n jobs lasts
-- longer than n us. Only if the clock has stepped back may it be between two pairs, and then one job more may start.
local function gives_back(limit, kind, amount, fence)
  local oldest, newest = limit.pairs[1], limit.pairs[#limit.pairs]
  if not oldest or tonumber(fence) < oldest.last - oldest.span or tonumber(fence) > newest.last + MAX_ITEMS then return false end
  return kind == 'p' or kind == 'm' or kind == 'w' or kind == 'e' or string.sub(amount, -1) == 'u'
end

-- allowance returns how many jobs may be taken if this number of flights end and of starts are given back in the same step.
local function allowance(limit, ending, back)
  if limit.unreadable then return 0 end
  local most = math.huge
  if limit.running > 0 then most = limit.running - math.max(limit.flights - ending, 0) end
  if limit.starts > 0 then most = math.min(most, limit.starts - math.max(limit.used - back, 0)) end
  return math.max(most, 0)
end

-- room_ahead returns how many jobs may be taken ahead if this number of flights, fewer those that begin, end in the same step.
local function room_ahead(limit, ending)
  if limit.unreadable then return 0 end
  return limit.starts == 0 and math.max(math.floor(limit.running / 2) - (limit.flights - ending), 0) or 0
end

-- count_flights records by how much the number of flights has changed, how many jobs start now, and how many starts are given back.
local function count_flights(limit, more, begins, back)
  if limit.unreadable then return end
  limit.flights = math.max(limit.flights + more, 0)
  if limit.starts > 0 then
    while back > 0 and limit.pairs[1] do
      local oldest = limit.pairs[1]
      local n = math.min(back, oldest.n)
      oldest.n, limit.used, back = oldest.n - n, limit.used - n, back - n
      if oldest.n == 0 then table.remove(limit.pairs, 1) end
    end
    local newest = limit.pairs[#limit.pairs]
    local span_us = newest and now_us - newest.last + newest.span
    if begins > 0 and newest and (now_us == newest.last or limit.starts > PAIRS and span_us <= limit.per * 1000 / PAIRS) then
      newest.last, newest.span, newest.n = now_us, span_us, newest.n + begins
    elseif begins > 0 then
      limit.pairs[#limit.pairs + 1] = { last = now_us, span = 0, n = begins }
    end
    limit.used = limit.used + begins
  end
  limit.state = state_of(limit)
end

-- next_start returns the instant of the next start, Unix ms: now_ms if a job may start now; -1 if no job waits, or the start depends on the
-- end of a flight. next_ms: the head of due, -1 none; waiting: jobs are in ready.
local function next_start(limit, next_ms, waiting)
  if limit.state == LIMIT_FULL or not waiting and next_ms < 0 then return -1 end
  local at_ms, used = now_ms, limit.used
  for _, pair in ipairs(limit.state == LIMIT_SPENT and limit.pairs or {}) do
    if used >= limit.starts then
      used, at_ms = used - pair.n, math.max(math.floor((pair.last + limit.per * 1000) / 1000) + 1, now_ms)
    end
  end
  return waiting and at_ms or math.max(at_ms, next_ms)
end

-- limit_text returns the field in its stored form.
local function limit_text(limit)
  if limit.unreadable then return limit.unreadable end
  local text = string.format('%d %d %d %d', limit.running, limit.starts, limit.per, limit.flights)
  for _, pair in ipairs(limit.pairs) do text = text .. string.format(' %d:%d:%d', pair.last, math.floor(pair.span), pair.n) end
  return text
end
