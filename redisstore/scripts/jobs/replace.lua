-- replace.lua: enqueue a job in place of the one that has its ID, in whichever place that is; if no job has it, add it.
-- KEYS[1]  …:ready      list  IDs of jobs to run now
-- KEYS[2]  …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[3]  …:jobs       hash  job ID -> envelope
-- KEYS[4]  …:callers    zset  completed calls, see lib/closed.lua; #enqueued: all enqueued jobs
-- KEYS[5]  …:state      hash  paused, layout, large, limit, parked, purge, groups, grules, batches
-- KEYS[6]  …:idle       zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[7]  …:stale      zset  IDs in ready that are void -> since when, Unix ms; see lib/stale.lua
-- KEYS[8]  …:once       zset  job ID -> until when it is not added again, Unix ms
-- KEYS[9]  …:dead       zset  job ID -> instant of its death, Unix ms
-- KEYS[10] …:crashes    hash  job ID -> times its holder vanished
-- KEYS[11] …:after      hash  job ID -> what follows its flight, see lib/after.lua
-- KEYS[12] …:sessions   zset  session -> instant it lapses, Unix ms
-- KEYS[13] …:unhandled  zset  job name -> since when it has parked jobs, Unix ms
-- KEYS[14] …:last       hash  schedule -> its last outcome, see lib/history.lua; its manual runs, see lib/manual.lua: a manual run whose ID is used for another job has ended
-- KEYS[15] …:line       zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[16] …:places     hash  job ID -> "<place> <group>"
-- KEYS[17] …:turns  zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[18] …:groups  hash  group -> its flights, tag and starts
-- KEYS[19] …:grules  hash  group -> its rule and pause
-- KEYS[20] …:opens  zset  group -> instant of its next start, Unix ms
-- KEYS[21] …:batches    hash  batch -> its counts, see lib/members.lua
-- KEYS[22] …:reports    zset  batch -> instant from which its counts are to be reported, Unix ms
-- KEYS[23...] …:inflight:<session>  hash  job ID -> fence: of every session
-- KEYS[24...] …:parked:<name>       zset  job ID -> instant parked, Unix ms: every list, the shared one last
-- ARGV[1] a unique name of this call; ARGV[2] prefix of the wake-up channels; ARGV[3] how many sessions; ARGV[4] how many lists of parked jobs
-- ARGV[5] the field parked of state before the shared list was searched for the job; empty: there is no such list
-- ARGV[6] its ID; ARGV[7] its member in the shared list (empty: unknown); ARGV[8] the envelope; ARGV[9] when: empty now, +n in n us,
-- @n at Unix ms n; then, if it expires, a line end and how many ms after it is due; then, if it has a group, a vertical
-- tab and the group; ARGV[10] how long no other job of the ID is accepted after it
-- has ended, ms; empty: it is accepted at once; then, if the new job is a member of a batch, a tab and the batch
-- ARGV[11...] the sessions; the names of the lists
-- Returns time (us); the outcome: 1 it was added, 2 it replaces another one, 3 nothing, because another one remains, 0 nothing was done, because a
-- session or a list is not in KEYS, or more was parked; 4 nothing was done because a purge has not ended, see purge_begin.lua;
-- 5 it was refused: there is no job of this ID, and as many jobs of its group wait as its rule allows; 6 nothing was done, because the present
-- job is a member of another batch than the new one, or only one of them is a member.
-- An additional 1: the partition is new, or was when the call was completed before: the caller must register the queue, see delete_queue.lua.

-- discard.lua explains where the job of this ID is. The effect depends on the place:
--   due (delayed, or it has failed): the new envelope and the new instant    parked: the same, like a new job, because it may have another name
--   in ready: the new envelope; it keeps its place, with any instant         dead: it starts again
--   in line: if it has the same group, as in ready; else it is added at the end of its group, or of ready, with any instant
--   in ready, and the new one has a group: it leaves ready, and is added at the end of its group, with any instant
--   held: it continues, and the new job waits in …:after until the flight ends   held and cancelled: nothing
-- While …:once bars the ID, only a waiting job is replaced: the others have had, or have, their attempt.
local READY, DUE, JOBS, CALLERS, STATE, IDLE, STALE, ONCE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local DEAD, CRASHES, AFTER, SESSIONS, UNHANDLED, LAST = KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13], KEYS[14]
local LINE, PLACES = KEYS[15], KEYS[16]
local TURNS, GROUPS, GRULES, OPENS = KEYS[17], KEYS[18], KEYS[19], KEYS[20]
local INFLIGHT = 22 -- the hashes of the sessions come after KEYS[22]
local wake, n_sessions, n_lists = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local PARKED = INFLIGHT + n_sessions -- the lists come after the hashes
local id, member, body, when, once_ms = ARGV[6], ARGV[7], ARGV[8], ARGV[9], tonumber(string.match(ARGV[10], '^%d+') or '')
local expire_ms, group -- nil: it does not expire; it has none
if string.find(when, '\v', 1, true) then when, group = string.match(when, '^(.*)\v(.*)$') end
if string.find(when, '\n', 1, true) then when, expire_ms = string.match(when, '^(.*)\n(%d+)$') end
local ADDED, REPLACED, KEPT, FULL = 1, 2, 3, 5
-- uses: limits callers clock layout parked closed queuelimit gate wake alarm seconds strings definition history manual over starts line groups tuned after due

local state = redis.call('HMGET', STATE, 'paused', 'layout', 'limit', 'parked', 'purge', 'groups', 'grules', 'batches')
local refusal = newer(state[2])
if refusal then return refusal end
local before = answered(CALLERS, ARGV[1])
if before then return { now_us, before, 1 } end
if state[5] then return { now_us, 4 } end

---------------------------------------------------------------------------------------------------------------- read

if ARGV[5] ~= '' and ARGV[5] ~= state[4] then return { now_us, 0 } end
local known = {}
for i = 11, #ARGV do known[ARGV[i]] = true end
for _, session in ipairs(redis.call('ZRANGE', SESSIONS, 0, -1)) do
  if not known[session] then return { now_us, 0 } end
end
for _, list in ipairs(redis.call('ZRANGE', UNHANDLED, 0, -1)) do
  if not known[list] then return { now_us, 0 } end
end
local held, holder -- its value in its session; which session that is
for s = 1, n_sessions do
  local fence = redis.call('HGET', KEYS[INFLIGHT + s], id)
  if fence then held, holder = fence, s end
end
local list, member_there -- where it is parked
for l = 1, n_lists do
  local name = ARGV[10 + n_sessions + l]
  local m = name == SHARED and member or id
  if m ~= '' and redis.call('ZSCORE', KEYS[PARKED + l], m) then list, member_there = l, m end
end
local due, dead, void = redis.call('ZSCORE', DUE, id), redis.call('ZSCORE', DEAD, id), redis.call('ZSCORE', STALE, id)
local stored = redis.call('HEXISTS', JOBS, id) == 1
local revive -- counts a dead member of a batch as left again; nil: the partition has no batches
do
  local batch = string.match(ARGV[10], '\t(.*)$')
  if batch and not state[8] then return { now_us, 6 } end
  if state[8] then
    local function pieces()
      -- uses: members
      local present = stored and batch_in(redis.call('HGET', JOBS, id)) or nil
      check_members(KEYS[21], KEYS[22])
      return present, function() save_members({ [present] = { dead = -1 } }, KEYS[21], KEYS[22], STATE) end
    end
    local present, saves = pieces()
    if present ~= batch then return { now_us, 6 } end
    if present and dead then revive = saves end
  end
end
local grouped = find_grouped(state[6], PLACES, LINE, { id })
local lined, entry = grouped.members[1], grouped.entries[1]
local same = lined and group and entry == string.match(entry, '^%d+ ') .. group -- it keeps its place
local all -- the groups of both jobs; nil: neither has one
if entry or group then all = open_tuned(state[6], state[7], { entry or '0 ' .. group, '0 ' .. (group or string.match(entry, ' (.+)$')) },
  LINE, PLACES, TURNS, GROUPS, GRULES, OPENS) end
local until_ms = once_ms and redis.call('ZSCORE', ONCE, id)
local barred = until_ms and tonumber(until_ms) > now_ms
local first = redis.call('ZRANGE', DUE, '0', '0', 'WITHSCORES')[2]
local enqueued = redis.call('ZSCORE', CALLERS, '#enqueued')
local past = read_past(LAST, {})
read_manual(past, LAST, { id })
redis.call('LLEN', READY)
redis.call('HLEN', CRASHES)
redis.call('HLEN', AFTER)
redis.call('ZCARD', IDLE)
local over = over_in(ONCE, once_ms and 1 or 0)
redis.call('ZCARD', ONCE)

------------------------------------------------------------------------------------------------------ decide and write

local due_ms = now_ms
if when ~= '' then
  due_ms = math.max(tonumber(string.sub(when, 2)), 0) -- before 1970 means now, as every instant in the past
  if string.sub(when, 1, 1) == '+' then due_ms = math.ceil((now_us + due_ms) / 1000) end
end
local sign, fence = string.match(held or '', '^([%-!%+]?)(%d+)$')
local became, begins = REPLACED, true -- begins: it goes to ready or due, like a new job
if held then
  begins = false
  if not fence or sign == '!' or barred then became = KEPT end
elseif stored and (due or list) then
  begins = true
elseif stored and dead then
  if barred then became = KEPT end
elseif same then
  begins = false
elseif stored and lined then
  due_ms = now_ms
elseif stored then
  begins = group ~= nil -- it is in ready
  if begins then due_ms = now_ms end
elseif barred then
  became = KEPT
else
  became = ADDED
  local most = group and due_ms <= now_ms and all.of[group].rule.waiting or 0
  if most > 0 and redis.call('ZLEXCOUNT', LINE, '[' .. group .. '\t', '(' .. group .. '\n') >= most then became = FULL end
end

if expire_ms then
  -- uses: expiry
  local in_ready = stored and not held and not due and not list and not dead -- then In and At have no effect
  body = expires_at(body, (in_ready and now_ms or math.max(due_ms, now_ms)) + expire_ms)
end
redis.call('ZREM', STALE, '') -- makes the other writes possible when the server is out of memory
local once_until = once_ms and whole(now_ms + once_ms)
if became == KEPT or became == FULL then
  if barred and tonumber(until_ms) > now_ms + once_ms then redis.call('ZADD', ONCE, once_until, id) end -- see enqueue.lua
  remember_closed(CALLERS, ARGV[1], became)
  return { now_us, became }
end
local wakes, alarm_ms, was_empty = false, nil, false
if held then
  -- 0: whenever the flight ends. With this instant the job would wait in due if the clock steps back before.
  redis.call('HSET', AFTER, id, after_text(due_ms > now_ms and due_ms or 0, body, group))
  if sign ~= '+' then redis.call('HSET', KEYS[INFLIGHT + holder], id, '+' .. fence) end
else
  redis.call('HSET', JOBS, id, body)
  redis.call('HDEL', CRASHES, id)
  end_manual(past, id)
  save_manual(past, LAST)
  save_last(past, LAST)
end
if entry and not held and not same then
  leave_line(PLACES, LINE, { lined }, { id })
  unblock_job(all, id, entry)
end
if begins then
  if dead then redis.call('ZREM', DEAD, id) end
  if dead and revive then revive() end
  if list then
    redis.call('ZREM', KEYS[PARKED + list], member_there)
    -- read after write: the rest of the list is known only now
    if redis.call('ZCARD', KEYS[PARKED + list]) == 0 then unlist(UNHANDLED, STATE, ARGV[10 + n_sessions + list]) end
  end
  if due_ms > now_ms then
    redis.call('ZADD', DUE, whole(due_ms), id)
    if group then redis.call('HSET', PLACES, id, NO_PLACE .. ' ' .. group) end
    alarm_ms = (not first or due_ms < tonumber(first)) and due_ms
  else
    if due then redis.call('ZREM', DUE, id) end
    if group then
      if became == REPLACED and stored and not (dead or list or due or lined) then -- its ID remains in ready
        redis.call('ZADD', STALE, whole(now_ms) .. '.5', id)
        redis.call('HSET', STATE, 'stale', '1')
      end
      local at, member = enter_line(all, group, id)
      redis.call('HSET', PLACES, id, at)
      redis.call('ZADD', LINE, '0', member)
    elseif void then
      redis.call('ZREM', STALE, id) -- it keeps its old place
    else
      was_empty = redis.call('RPUSH', READY, id) == 1
    end
    wakes = not group
  end
end
if all and not held then
  tune_groups(all, STATE, LINE, PLACES, TURNS, GROUPS, OPENS)
  wakes = wakes or all.of[group] and all.of[group].where == 't' or all.opened
  if all.alarmed then
    local opens_ms = due_head(OPENS)
    if not alarm_ms or opens_ms < alarm_ms then alarm_ms = opens_ms end
  end
end
if #body > LARGE_BYTES then redis.call('HSETNX', STATE, 'large', '1') end
if #over > 0 then redis.call('ZREM', ONCE, unpack(over)) end
if once_ms then redis.call('ZADD', ONCE, once_until, id) end
if became == ADDED then redis.call('ZADD', CALLERS, whole((enqueued or 0) + 1), '#enqueued') end
if state[2] ~= LAYOUT then redis.call('HSET', STATE, 'layout', LAYOUT) end
if not state[2] then -- delete_queue.lua lets these expire
  redis.call('PERSIST', CALLERS)
  redis.call('PERSIST', IDLE)
end
remember_closed(CALLERS, ARGV[1], became)
if not state[1] and (wakes or alarm_ms) then
  local limit = read_limit(state[3])
  if limit then
    local next_ms = next_start(limit, alarm_ms or -1, wakes)
    -- if others wait already, the alarm for the next start remains
    alarm_ms = next_ms > now_ms and not (wakes and not was_empty) and next_ms
    wakes = next_ms == now_ms
  end
  if wakes then wake_one(IDLE, wake) end
  if alarm_ms then keep_alarm(IDLE, wake, alarm_ms) end
end
return { now_us, became, state[2] and 0 or 1 }
