-- work_few.lua: settle a few ordinary jobs that are done, then take the few ordinary ones that wait: the short form of work.lua, for a worker to which
-- jobs come one at a time. It leaves every other call to work.lua, under the same number, and writes nothing then.
-- Model: FEW_BODY in models/session.pml.
-- KEYS[1] …:inflight:<session>  hash  job ID -> fence; and the field of the piece session
-- KEYS[2] …:state               hash  layout, fence, done, enqueued, swept, tended: the ordinary fields, which are never removed; turn, large, outbox
-- KEYS[3] …:jobs                hash  job ID -> envelope
-- KEYS[4] …:due                 zset  job ID -> instant it is due, Unix ms
-- KEYS[5] …:ready               list  IDs of jobs to run now
-- KEYS[6] …:idle                zset  sleeping worker -> instant it went to sleep, Unix ms
-- ARGV[1] number of this call; ARGV[2] the number before; ARGV[3] how many jobs it may take at most, all of which begin; 0: none
-- ARGV[4] 0, 1 or 3: as ARGV[6] of work.lua; 4: as 1, but if it takes as many as it may, no slot is free. With a p behind it: an earlier call of the session has
-- seen all ordinary fields of state
-- ARGV[5] worker; ARGV[6] as ARGV[9] of work.lua; ARGV[7...] the IDs of the finished jobs, then their fences
-- Returns 0 if it leaves the call to work.lua. Else a list: time (us), with a p behind it if all fields of state are ordinary and none is missing; instant of the
-- head of due (Unix ms, -1 nothing to wait for); place among the keepers of the alarm (1, 2, 0); if jobs were taken, their IDs, with a line end between them, and
-- the envelope of each. The fence of the first one is the time, that of each other is one more than the one before. Nothing is left to take. If there is nothing to
-- wait for and at most one job was taken, it is not a list but a text: the time, and then a line end, the ID, a line end and the envelope.
local INFLIGHT, STATE, JOBS, DUE, READY, IDLE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local ARGV = ARGV -- a local is found faster than a global
local RENEWED_S = 3 -- work.lua renews a session: it carries out a call if that was longer ago. A session with a call of this kind lives longer
-- uses: layout session

-- The costs, in processor instructions: an argument or a key 1,450, a call of Redis 4,100 and more, a field of HMGET 2,400, a list of three values as the answer
-- 7,000, string.match 4,500, a closure 1,200, a number from a text 2,200. So this script has no functions, compares texts, and has a way of its own for one job.
local time = redis.call('TIME')
local now_text = time[1] .. string.sub('00000' .. time[2], -6)
if #now_text ~= 16 then return 0 end -- the clock is wrong: work.lua returns the error

-- Whatever is unusual in a partition has a field of its own in …:state: a pause, a limit, parked jobs, groups, and what later versions add. So only the ordinary
-- fields may be there. Once all of them are, their number is enough: the session that has seen them has found its own last call in these data.
local mode, plain, state, more = ARGV[4], false, nil, nil -- more: the number of fields that are not ordinary
if #mode > 1 then
  mode = string.sub(mode, 1, 1)
  state = redis.call('HMGET', STATE, 'layout', 'fence', 'done')
  more = redis.call('HLEN', STATE) - 6
  if more < 0 then return 0 end
else
  state = redis.call('HMGET', STATE, 'layout', 'fence', 'done', 'enqueued', 'swept', 'tended')
  more = redis.call('HLEN', STATE)
  plain = more == 6
  for i = 1, 6 do
    if state[i] then
      more = more - 1
    else
      plain = false
    end
  end
end
if state[1] ~= LAYOUT then return 0 end
local large
if more > 0 then
  local others = redis.call('HMGET', STATE, 'turn', 'large', 'outbox')
  for i = 1, 3 do
    if others[i] then more = more - 1 end
  end
  if more > 0 or others[3] and not string.find(others[3], '^%d+ 0 ') then return 0 end -- jobs wait in the outbox
  large = others[2]
end
if state[2] and (#state[2] ~= 16 or state[2] >= now_text) then return 0 end -- the next fence is not the time
local done = (#ARGV - 6) / 2
local done_before = done > 0 and tonumber(state[3] or '0')
if done > 0 and not (done_before and done_before >= 0 and done_before < 1e15) then return 0 end

-- The session holds each finished job with its fence, and its last call was the one before this: so this one is not sent again. If the fence in its field does
-- not have 16 digits, no second stands behind it.
local held = redis.call('HMGET', INFLIGHT, SELF, unpack(ARGV, 7, 6 + done))
local header, behind = held[1] or '', #ARGV[2] + 1
if string.sub(header, 1, behind) ~= ARGV[2] .. ' ' then return 0 end
local renewed = string.sub(header, behind + 18, behind + 27)
if renewed ~= time[1] and (not string.find(renewed, '^%d+$') or time[1] - renewed > RENEWED_S or time[1] < renewed) then return 0 end
for i = 1, done do
  if held[i + 1] ~= ARGV[6 + done + i] then return 0 end
end

local sleeps_on, next_ms, keep, ids, bodies, taken, joined = mode == '3', -1, nil, nil, nil, 0, nil -- keep: keep_alarm; nil: due is empty
local fills = false -- whether it takes as many as it may
if not sleeps_on then
  if redis.call('ZRANGE', DUE, '0', '0')[1] then
    -- uses: limits clock due alarm
    next_ms, keep = due_head(DUE), keep_alarm
    if next_ms <= now_ms then return 0 end
  end
  ids = redis.call('LRANGE', READY, '0', ARGV[3]) -- one more than may be taken: then others would be left
  taken, joined = #ids, ids[1]
  if taken == 1 then
    if ARGV[3] == '0' then return 0 end
    fills = ARGV[3] == '1'
    bodies = redis.call('HGET', JOBS, joined)
    if not bodies then return 0 end -- it is void, or an occurrence
  elseif taken > 0 then
    local most = tonumber(ARGV[3])
    if taken > most or large then return 0 end -- large ones are taken until their envelopes have a certain size
    fills = taken == most
    bodies = redis.call('HMGET', JOBS, unpack(ids))
    for i = 1, taken do
      if not bodies[i] then return 0 end -- as above
    end
    joined = table.concat(ids, '\n')
  end
  if taken > 0 and (string.find(joined, '@', 1, true) or string.find(joined, SELF, 1, true)) then return 0 end -- occurrences have an @
end
if done == 0 and (sleeps_on or taken == 0) then return 0 end
if taken == 0 and not sleeps_on then redis.call('HEXISTS', JOBS, SELF) end

-- as in work.lua, from here on
local asleep, was_asleep = mode == '1' or mode == '4' and not fills, false
if asleep then
  -- The first write. If it fails, as when the server is out of memory or the key has a wrong type, nothing has happened.
  -- undone below: nothing was written
  local slept = redis.pcall('ZADD', IDLE, string.sub(now_text, 1, -4), ARGV[5])
  if type(slept) ~= 'number' then return 0 end
elseif not sleeps_on then
  was_asleep = redis.call('ZREM', IDLE, ARGV[5]) == 1
end
local header, fence = ARGV[1] .. ' ' .. now_text .. ' ' .. renewed .. ' ' .. ARGV[6], now_text
if done > 0 then
  redis.call('HDEL', JOBS, unpack(ARGV, 7, 6 + done))
  redis.call('HDEL', INFLIGHT, unpack(ARGV, 7, 6 + done))
end
if taken > 1 then
  local flying = { SELF, header }
  for i = 1, taken do
    fence = string.format('%d', now_text + i - 1)
    flying[2 * i + 1], flying[2 * i + 2] = ids[i], fence
  end
  redis.call('LTRIM', READY, string.format('%d', taken), '-1')
  redis.call('HSET', INFLIGHT, unpack(flying))
elseif taken == 1 then
  redis.call('LTRIM', READY, '1', '-1')
  redis.call('HSET', INFLIGHT, SELF, header, joined, fence)
else
  redis.call('HSET', INFLIGHT, SELF, header)
end
if taken > 0 and done > 0 then
  redis.call('HSET', STATE, 'fence', fence, 'done', string.format('%d', done_before + done))
elseif taken > 0 then
  redis.call('HSET', STATE, 'fence', fence)
else
  redis.call('HSET', STATE, 'done', string.format('%d', done_before + done))
end
local place = 0
if keep and (asleep or was_asleep) then place = keep(IDLE, string.match(IDLE, '^(.-){') .. 'wake:', next_ms, asleep and ARGV[5]) end
if place == 0 then next_ms = -1 end
local head = plain and now_text .. 'p' or now_text
if place == 0 and taken == 0 then return head end
if place == 0 and taken == 1 then return head .. '\n' .. joined .. '\n' .. bodies end
if taken < 2 then return { head, next_ms, place, joined, bodies } end
return { head, next_ms, place, joined, unpack(bodies) }
