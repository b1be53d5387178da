-- work.lua: settle ended jobs, then take due ones. A busy worker makes only this call to a partition.
-- Model: WORK_BODY in models/session.pml, TAKE_BODY in models/placing.pml, TAKE_BODY in models/stale.pml.
-- KEYS[1]  …:inflight:<session>  hash    job ID -> fence, "-" before it while not begun, "!" if it was cancelled, "+" replaced; and the field of the piece session
-- KEYS[2]  …:sessions            zset    session -> instant it lapses, Unix ms
-- KEYS[3]  …:state               hash    fence, paused, parked, layout, large, done, crashed, turn, limit; if jobs were cancelled: stale, asked; if jobs have groups: groups, grules; purge; outbox; batches, revoked
-- KEYS[4]  …:jobs                hash    job ID -> envelope
-- KEYS[5]  …:due                 zset    job ID -> instant it is due, Unix ms
-- KEYS[6]  …:ready               list    IDs of jobs to run now
-- KEYS[7]  …:crashes             hash    job ID -> how often its holder vanished, see lib/suspects.lua
-- KEYS[8]  …:idle                zset    sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[9]  …:counters            hash
-- KEYS[10] …:schedules           hash    schedule -> definition
-- KEYS[11] …:cursors             hash    schedule -> "<planned instant> <runs used> <kind>"
-- KEYS[12] …:owed                zset    schedule -> instant since when its next occurrence is to be placed, Unix ms
-- KEYS[13] …:open                hash    schedule -> see lib/open.lua
-- KEYS[14] …:dead                zset    job ID -> instant of its death, Unix ms
-- KEYS[15] …:runs                stream  past runs
-- KEYS[16] …:behind              zset    "<schedule>\t<planned instant>" -> 0: occurrences behind the one in open
-- KEYS[17] …:callers             zset    sessions that have ended, see lib/closed.lua
-- KEYS[18] …:unhandled           zset    job name -> since when it has parked jobs, Unix ms
-- KEYS[19] …:handlers            hash    job name -> workers that handle it
-- KEYS[20] …:stale               zset    IDs in ready that are void, see lib/stale.lua -> since when, Unix ms
-- KEYS[21] …:results             hash    job ID -> its result
-- KEYS[22] …:kept                zset    job ID -> until when its result is kept, Unix ms
-- KEYS[23] …:progress            hash    job ID -> its progress
-- KEYS[24] …:last                hash    schedule -> its last outcome, see lib/history.lua; its manual runs, see lib/manual.lua
-- KEYS[25] …:history             hash    schedule -> its last attempts
-- KEYS[26] …:after               hash    job ID -> what follows its flight, see lib/after.lua
-- KEYS[27] …:notes               hash    schedule -> note of its pause
-- KEYS[28] …:zones               hash    schedule -> local time of the occurrence at its cursor, see lib/zones.lua
-- KEYS[29] …:line                zset    "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[30] …:places              hash    job ID -> "<place> <group>"
-- KEYS[31] …:turns               zset    "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[32] …:groups              hash    group -> its flights, tag and starts
-- KEYS[33] …:grules              hash    group -> its rule and pause
-- KEYS[34] …:opens               zset    group -> instant of its next start, Unix ms
-- KEYS[35...] …:parked:<name>    zset    job ID -> instant parked, Unix ms: first those to serve, then those to park on, then, if there
--          are any of these or members of it are served, the shared one (see lib/parked.lua)
-- KEYS[36...] …:outbox           zset    jobs that wait to be carried to other partitions, see lib/outbox.lua: these two come last, if ARGV[14] has q
-- KEYS[37...] …:outgoing         hash    "<queue>\t<job ID>" -> its value
-- KEYS[38...] …:once             zset    job ID -> until when it is not added again, Unix ms: these three come after all, if ARGV[14] has b
-- KEYS[39...] …:batches          hash    batch -> its counts, see lib/members.lua
-- KEYS[40...] …:reports          zset    batch -> instant from which its counts are to be reported, Unix ms
-- ARGV[1]  session
-- ARGV[2]  number of this call; 1 creates the session if anything is taken
-- ARGV[3]  time to live of the session, ms
-- ARGV[4]  how many to take at most
-- ARGV[5]  how many of these, the last ones, are taken ahead: not begun; if the worker handles jobs of some names together, then these names, each with
--          a blank before and after it: their jobs have not begun either, if no limit or order concerns them and no holder of them has vanished
-- ARGV[6]  0: stay awake; 1: sleep if nothing is left to take and fewer jobs came than were requested; 2: as 1, and return which
--          sessions have lapsed; 3: continue to sleep, registered in idle as before: only for calls that take nothing and settle only
--          finished jobs
-- ARGV[7]  worker
-- ARGV[8]  prefix of the wake-up channels
-- ARGV[9]  host, pid, worker and padding, stored after the number
-- ARGV[10] how many parked names to serve
-- ARGV[11] how many names to park on
-- ARGV[12] how many finished jobs: done, without an envelope or a record; if the results of some are kept, or jobs without groups follow some at once, a
--          blank, of how many the result is kept (the last ones), a blank and the queue; a blank and how many are followed (those before the last ones)
-- ARGV[13] how many jobs that were taken ahead and have begun; none of them is settled in the same call
-- ARGV[14] how many other settlements; if any has annexes, a blank and how many of these; if one of these has a group or another queue, a blank, g if one has a group,
--          q if one has another queue, and b with a number if some of the jobs, or of those that may be taken, are members of batches: of how many batches are the finished ones
-- ARGV[15] 1: the worker may be given a suspect (see lib/suspects.lua); 2: it holds one; 0: another call of it may
-- ARGV[16] how many members of the shared list of parked jobs to serve
-- ARGV[17...] in this order: the names to serve; the members of the shared list; the names to park on; the IDs of the finished jobs, of the begun ones and of the
--          other settlements; the fences of all of these; then four values for each other settlement: kind (d done, f failed and
--          due again, l due later, x dead, b back, p parked, m missed, w withdrawn and placed again, e expired, c cancelled), delay in ms (p: position of the name to park on and, if
--          it was parked before, since when; x: how many dead jobs are kept; b, x: followed by u if the handler had not begun; w: the instant to which the
--          cursor goes back), envelope (empty:
--          unchanged), record ("<outcome>|<started>|<ended>", Unix ms, and the fields of an attempt in lib/history.lua; empty: none); then three values
--          for each annex: which other settlement it belongs to, a letter, data. o: the envelope of the job to add if this one is done, dies or expires; i:
--          how long after that it is due, ms; if it has a group, a tab and the group (without i: it has none, and is due then); q: its queue, if that is another one; r:
--          "<how long its result is kept, ms> <queue> <result>"; g: it has reported progress, which is removed; b: the batch of which it is a member; m: the batch of which the job to add is a member; then two values for each finished job whose result is kept: how long,
--          ms, and the result with its letter; then two values for each one that is followed: the job that follows, its envelope;
--          then two values for each batch of finished jobs: the batch, and their positions among the finished jobs, each with a blank behind it
-- Returns 0, and has done nothing, if takes end members of a cancelled batch (lib/revoked.lua) and ARGV[14] has no b. Else (an empty list is 0):
--   time (us)
--   positions of the settlements refused, the finished jobs first
--   of the jobs taken: fence of the first (that of each other is one more than the one before); how many have begun (the first of
--     them); the IDs (a list; if they have equal lengths: joined); the data of each (an envelope, or a definition; empty: gone); if
--     there are occurrences, a letter for each (j an ordinary job, e an occurrence with an envelope, d with a definition, n with a
--     definition and new); if jobs of the partition have crashed, the crashes of each
--   schedules whose next occurrence is owed, four values each: name, definition, cursor, entry in zones (empty: none)
--   a sum: 1 more to take, 2 a job waits that is not taken ahead, 4 suspects wait (see lib/suspects.lua); paused (1, 0); instant of the head of due
--     (Unix ms, -1 nothing to wait for); place among the keepers of the alarm (1, 2, 0); the field parked of state (0: no job is parked)
--   earliest lapse of the other sessions (Unix ms, -1); lapsed ones, two values each: name, lapse
--   of the names served, the positions of those with more; for the taken jobs that were parked, two values each: position, since when
--   occurrences that newer ones have ended, under policy cancel
--   the unreadable fields of state, joined by blanks (0: none): fence and done are replaced; limit is not changed, and no job is taken
--   for a queue with a limit, else missing or 0: a job may start (1), all starts are used (2), the maximum number of jobs run, or the limit
--     cannot be read (3), jobs may start and be taken ahead (4)
--   schedules that this call has paused, two values each: name, how many consecutive occurrences ended dead; missing or 0: none
--   occurrences that were dropped, because another one runs or waits; missing or 0: none
--   if groups have rules and ARGV[5] has names, a letter for each job taken: o its group runs in order, f its group may start no more now, "." neither;
--     missing: as "." for all
--   if jobs wait to be carried to other partitions (see lib/outbox.lua): 1 more they are to be carried now, 2 more they have reached their bound, and nothing is taken; 4 more
--     counts of batches are to be reported now, 8 more the partition has such counts; missing: 0
local INFLIGHT, SESSIONS, STATE, JOBS, DUE, READY, CRASHES, IDLE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local COUNTERS, SCHEDULES, CURSORS, OWED, OPEN, DEAD = KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13], KEYS[14]
local BEHIND, UNHANDLED = KEYS[16], KEYS[18]
local LINE, PLACES = KEYS[29], KEYS[30]
local PARKED = 34 -- the lists of parked jobs come after KEYS[34]
local ARGV = ARGV -- a local is found faster than a global
local session, number, ttl_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local want, sleep, sleeps_on, worker, wake = tonumber(ARGV[4]), ARGV[6] ~= '0', ARGV[6] == '3', ARGV[7], ARGV[8]
local ahead, serves, parks, begun, others, shared = 0, 0, 0, 0, 0, 0
local many -- nil: the worker handles each job alone; names: of the others. The take sets the other fields
if ARGV[5] ~= '0' then
  ahead = tonumber(ARGV[5])
  if not ahead then
    many = {}
    ahead, many.names = string.match(ARGV[5], '^(%d+)( .* )$')
    ahead = tonumber(ahead)
  end
end
if ARGV[10] ~= '0' then serves = tonumber(ARGV[10]) end
if ARGV[11] ~= '0' then parks = tonumber(ARGV[11]) end
local finished, keeps, follows = tonumber(ARGV[12]), nil, nil -- the results to keep, see lib/kept.lua; the jobs that follow, see lib/followed.lua; nil: none
if not finished then
  local n, queue, n_follow
  finished, n, queue, n_follow = string.match(ARGV[12], '^(%d+) (%d+) (%S+) (%d+)$')
  finished, n, n_follow = tonumber(finished), tonumber(n), tonumber(n_follow)
  if n > 0 then keeps = { n = n, queue = queue, without = {} } end
  if n_follow > 0 then follows = { n = n_follow, first = finished - n - n_follow, without = {} } end
end
if ARGV[13] ~= '0' then begun = tonumber(ARGV[13]) end
local annexes, joins, sends = 0, nil, '' -- joins: a job that follows has a group; sends: q, one has another queue; then b and a number, some are members of batches
if ARGV[14] ~= '0' then
  others = tonumber(ARGV[14])
  if not others then
    others, annexes, joins, sends = string.match(ARGV[14], '^(%d+) (%d+) ?(g?)(q?b?%d*)$')
    joins = joins == 'g'
    others, annexes = tonumber(others), tonumber(annexes)
  end
end
if ARGV[16] ~= '0' then shared = tonumber(ARGV[16]) end
local at_serve = 16
local at_park = at_serve + serves + shared
local settled = finished + begun + others
local at_id = at_park + parks
local at_fence = at_id + settled
local at_other = at_fence + settled
if keeps then keeps.first, keeps.at = at_id + finished - keeps.n, at_other + 4 * others + 3 * annexes end
if follows then follows.at = at_other + 4 * others + 3 * annexes + (keeps and 2 * keeps.n or 0) end
local OCCURRENCES = 150 -- settled and taken occurrences of one call: one costs as much as five ordinary jobs, a skipped one as ten
-- uses: limits clock layout due waiting session
local now_us_text = time[1] .. string.sub('00000' .. time[2], -6)
local now_text = string.sub(now_us_text, 1, -4) -- now_ms

-- There are two paths through this script. Calls that finish, begin and take ordinary jobs use the short path. Calls with other
-- settlements or with occurrences, and repeated calls, use the long path: its additional steps are functions on
-- the table call (lib/call.lua, lib/settle.lua, lib/overlap.lua).
--
-- The costs: a call of Redis 0.4 us, a closure 0.1 us, a number from a text 0.1 us, a text from a number 0.1 us by whole
-- and 0.4 us as an argument, a table that grows 0.1 us, a string 1.3 ns a byte (Redis hashes each whole), the length of a long list a
-- search. So the short path creates nothing that it does not need, and the functions of the long path are created only there.

--------------------------------------------------------------------------------------------- read and check: the session

local state = redis.call('HMGET', STATE, 'fence', 'paused', 'parked', 'layout', 'large', 'done', 'crashed', 'turn', 'limit', 'stale', 'groups', 'grules', 'purge', 'outbox', 'batches')
local refusal = newer(state[4])
if refusal then return refusal end
local paused, large = state[2], state[5]
local OUTBOX, OUTGOING = #KEYS - 1, #KEYS -- if the call sends, and no job is a member
if #sends > 1 then OUTBOX, OUTGOING = #KEYS - 4, #KEYS - 3 end
local box -- nil: nothing waits in the outbox, and nothing is added; else the piece outbox
if string.byte(sends) == 113 or state[14] and not string.find(state[14], '^%d+ 0 ') then
  local function pieces()
    -- uses: outbox
    return { sums = read_outbox(state[14]), is_full = is_full, owes = owes, save_sent = save_sent }
  end
  box = pieces()
  paused = paused or box.is_full(box.sums, 1) -- likewise nothing is taken, and nobody is woken
end

local held = redis.call('HMGET', INFLIGHT, SELF, unpack(ARGV, at_id + 1, at_id + settled))
local header = held[1]
local last, first_drawn, renewed
if header then last, first_drawn, renewed = string.match(header, '^(%d+) (%d+) (%d+)') end
last = last and tonumber(last)
-- A session that has ended or is being reaped does not begin again, even if its first call comes late: no worker would run its jobs.
if not last and (header or number ~= 1 or settled > 0 or redis.call('ZSCORE', KEYS[17], session)) then
  return redis.error_reply('CHIMELOST session ' .. session .. ' is gone')
end
if last and number ~= last and number ~= last + 1 then
  return redis.error_reply('CHIMELOST call ' .. ARGV[2] .. ' of session ' .. session .. ' comes after call ' .. last)
end
local again = last == number
local batched -- the piece members; nil: the call has no keys of batches, or is repeated
if #sends > 1 and not again then
  local function pieces()
    -- uses: members revoked forget
    return { find = revoked_in, check = check_members, count = count_member, save = save_members, forget = forget_ids }
  end
  batched = pieces()
end

-- then: settlements
-- then: groups
-- then: candidates
-- then: schedules
-- then: settle
-- then: take
-- then: answer
