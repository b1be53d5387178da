-- delete_queue.lua: delete the keys of an empty partition, or return what is on it.
-- KEYS[1]  …:state      hash  layout
-- KEYS[2]  …:ready      list  IDs of jobs to run now
-- KEYS[3]  …:stale      zset  IDs in ready that are void -> since when, Unix ms
-- KEYS[4]  …:purged     list  IDs of jobs that a purge has not deleted yet
-- KEYS[5]  …:spared     zset  IDs in purged that are void -> since when, Unix ms
-- KEYS[6]  …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[7]  …:behind     zset  occurrences that wait for the one in flight -> 0
-- KEYS[8]  …:sessions   zset  session -> instant it lapses, Unix ms
-- KEYS[9]  …:unhandled  zset  job name with parked jobs -> since when, Unix ms
-- KEYS[10] …:dead       zset  job ID -> instant of its death, Unix ms
-- KEYS[11] …:kept       zset  job ID -> until when its result is kept, Unix ms
-- KEYS[12] …:schedules  hash  schedule -> definition
-- KEYS[13] …:owed       zset  schedule -> instant since when its next occurrence is to be placed
-- KEYS[14] …:gone       zset  schedule that lived here -> when it left or was deleted, Unix us
-- KEYS[15] …:owners     hash  schedule -> its owner
-- KEYS[16] …:callers    zset  enqueuer -> instant and number of its last call, see lib/callers.lua
-- KEYS[17] …:idle       zset  sleeping worker -> instant it went to sleep, Unix ms; see lib/gate.lua
-- KEYS[18] …:jobs       hash  job ID -> envelope
-- KEYS[19] …:crashes    hash  job ID -> times its holder vanished
-- KEYS[20] …:once       zset  job ID -> until when it is not added again, Unix ms
-- KEYS[21] …:results    hash  job ID -> its result
-- KEYS[22] …:after      hash  job ID -> what follows its flight
-- KEYS[23] …:progress   hash  job ID -> its progress
-- KEYS[24] …:cursors    hash  schedule -> cursor
-- KEYS[25] …:open       hash  schedule -> the occurrence that holds it
-- KEYS[26] …:origins    hash  schedule -> queues that it has left
-- KEYS[27] …:notes      hash  schedule -> note of its pause
-- KEYS[28] …:last       hash  schedule -> its last outcome
-- KEYS[29] …:history    hash  schedule -> its last attempts
-- KEYS[30] …:runs       stream past runs
-- KEYS[31] …:counters   hash  the counts
-- KEYS[32] …:handlers   hash  job name -> workers that handle it
-- KEYS[33] …:sampled    hash  the last sample, see sample.lua
-- KEYS[34] …:measured   hash  measurements of workers since then
-- KEYS[35] …:minutes    stream  samples by the minute
-- KEYS[36] …:hours      stream  samples by the hour
-- KEYS[37] …:zones      hash  schedule -> local time of its last occurrence
-- KEYS[38] …:line       zset  jobs of groups to run now, see lib/line.lua
-- KEYS[39] …:places     hash  job ID -> its place and its group
-- KEYS[40] …:purgedline  zset  those of them that a purge has not deleted yet
-- KEYS[41] …:turns      zset  groups that may start a job, see lib/groups.lua
-- KEYS[42] …:groups     hash  group -> its flights, tag and starts
-- KEYS[43] …:grules     hash  group -> its rule and pause
-- KEYS[44] …:opens      zset  group -> instant of its next start
-- KEYS[45] …:outbox     zset  jobs that wait to be carried to other partitions, see lib/outbox.lua
-- KEYS[46] …:outgoing   hash  these, and the carried ones
-- KEYS[47] …:delivered  zset  jobs that were carried to other partitions
-- KEYS[48] …:carried    hash  target partition -> what it has taken
-- KEYS[49] …:inbox      hash  source partition -> what was carried last
-- KEYS[50] …:shapes     hash  shapes of errors, see lib/shapes.lua
-- KEYS[51] …:batches    hash  batch -> its counts, see lib/members.lua
-- KEYS[52] …:reports    zset  batch -> when its counts are to be reported
-- KEYS[53] …:ends       zset  ends of pauses, see lib/ends.lua
-- KEYS[54...] …:inflight:<session>  hash  job ID -> fence: of the sessions that the caller has read, at most 500
-- ARGV[1] a unique name of this call; empty: only count; ARGV[2] for how long it is remembered that a schedule has left, s
-- ARGV[3...] these sessions
-- Returns time (us), then the counts: waiting jobs, including those behind others; delayed ones; sessions that hold jobs; names with parked jobs;
-- dead jobs; kept results; schedules; jobs that wait to be carried to other partitions; batches that have not ended. All 0: the partition is empty, and its keys are gone.

-- A queue is in one of these states. listed: the registry of the namespace has it. used: something counted above is on one of its partitions.
--   listed, used or not: a deletion that finds it used changes nothing
--   unlisted, used: it was used after the deletion had counted, and before its keys were gone: the deletion lists it again
--   unlisted, its keys gone: deleted
-- First the queue leaves the registry. Then its keys are deleted, each partition in one step, which finds it used or not. A process that uses a
-- partition without keys finds no layout there (enqueue.lua returns that), or has checked itself, and lists the queue: that comes after the
-- deletion has removed it from the registry. So a used queue is listed in the end, and no job is ever deleted.
--
-- The gate is closed. Otherwise enqueue_one.lua, which does not read the layout, would add the next job of an enqueuer that has used the queue
-- within the last seconds, and the queue would not be listed. enqueue.lua opens the gate, and returns that the partition is new.
--
-- The guards against calls that come twice outlive the queue for as long as such calls may come, and then expire: callers, gone,
-- owners and inbox; and also idle, with the gate and the sleeping workers, which serve the queue if it is used again. What is written first on the partition
-- makes these keys persistent again: enqueue.lua, replace.lua, limit_queue.lua and carry.lua callers and idle; declare.lua and move_arrive.lua also gone
-- and owners. Each carry.lua that adds an entry makes inbox persistent again.
-- Fences begin again at TIME.
--
-- Jobs that were carried to other partitions are gone with the queue: only a target that loses data would need them again. The marks in inbox remain
-- for 7 days: a source that carries the same call again adds nothing. After that a mark without a job takes their place (see carry.lua).
--
-- A session without a job holds nothing: it ends with the queue, and callers remembers it like a session that close_session.lua has ended. The
-- next call of its worker, a copy of its first one, and its heartbeat find that it is gone, and the worker begins another. A session that is not
-- in KEYS has begun since, by taking a job, and counts as one that holds some.
local STATE, READY, STALE, PURGED, SPARED, DUE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local BEHIND, SESSIONS, UNHANDLED, DEAD, KEPT, SCHEDULES = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local MAX_BATCHES = 10000 -- of more, none is read, and they block the deletion until they are forgotten
local MARKS_S = '604800' -- for how long the marks of sources remain
local OWED, GONE, OWNERS, CALLERS, IDLE = KEYS[13], KEYS[14], KEYS[15], KEYS[16], KEYS[17]
-- uses: limits callers clock layout closed gate definition session due waiting
local refusal = newer(redis.call('HGET', STATE, 'layout'))
if refusal then return refusal end
local nothing = { now_us, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
if ARGV[1] ~= '' and answered(CALLERS, ARGV[1]) then return nothing end

local found = {
  now_us, count_waiting(READY, STALE, KEYS[38]) + math.max(redis.call('LLEN', PURGED) - redis.call('ZCARD', SPARED), 0)
    + redis.call('ZCARD', KEYS[40]) + redis.call('ZCARD', BEHIND), redis.call('ZCARD', DUE), 0,
  redis.call('ZCARD', UNHANDLED), redis.call('ZCARD', DEAD), redis.call('ZCOUNT', KEPT, whole(now_ms), '+inf'), redis.call('HLEN', SCHEDULES),
  redis.call('ZCARD', KEYS[45]), redis.call('HLEN', KEYS[51]),
}
local at_of, empty = {}, {} -- at_of: where in KEYS the hash of a session is; empty: sessions without a job
for i = 3, #ARGV do at_of[ARGV[i]] = 51 + i end
for _, session in ipairs(redis.call('ZRANGE', SESSIONS, 0, -1)) do
  local at = at_of[session]
  if at and redis.call('HLEN', KEYS[at]) == redis.call('HEXISTS', KEYS[at], SELF) then
    empty[#empty + 1] = session
  else
    found[4] = found[4] + 1
  end
end
-- the marks of schedules that have moved away do not count; if there are very many, they block the deletion until a sweep removes them
if found[8] > 0 then
  local left = redis.call('ZRANGE', GONE, '0', whole(MAX_ITEMS - 1))
  for _, text in ipairs(#left > 0 and redis.call('HMGET', SCHEDULES, unpack(left)) or {}) do
    local state = policy(text)
    if state and is_mark(state) then found[8] = found[8] - 1 end
  end
end
found[8] = math.max(found[8], redis.call('ZCARD', OWED)) -- an owed mark belongs to a move that is not complete
redis.call('HLEN', OWNERS)
redis.call('ZCARD', IDLE)
redis.call('HLEN', KEYS[49])
local kept = found[10] > 0 and found[10] <= MAX_BATCHES and redis.call('HGETALL', KEYS[51]) or {}
for i = 2, #kept, 2 do
  if string.find(kept[i], ' [-cx]*e[-cxe]* %d+ %S+$') then found[10] = found[10] - 1 end
end

for i = 2, 10 do
  if found[i] > 0 then return found end
end
if ARGV[1] == '' then return nothing end

redis.call('UNLINK', STATE, READY, STALE, PURGED, SPARED, DUE, BEHIND, SESSIONS, UNHANDLED, DEAD, KEPT, SCHEDULES, OWED)
redis.call('UNLINK', KEYS[18], KEYS[19], KEYS[20], KEYS[21], KEYS[22], KEYS[23], KEYS[24], KEYS[25], KEYS[26], KEYS[27], KEYS[28], KEYS[29],
  KEYS[30], KEYS[31], KEYS[32], KEYS[33], KEYS[34], KEYS[35], KEYS[36], KEYS[37], KEYS[38], KEYS[39], KEYS[40],
  KEYS[41], KEYS[42], KEYS[43], KEYS[44], KEYS[45], KEYS[46], KEYS[47], KEYS[48], KEYS[50], KEYS[51], KEYS[52], KEYS[53])
redis.call('ZREM', CALLERS, '#enqueued')
for _, session in ipairs(empty) do
  redis.call('UNLINK', KEYS[at_of[session]])
  remember_closed(CALLERS, session)
end
remember_closed(CALLERS, ARGV[1])
redis.call('EXPIRE', CALLERS, whole(CALLER_S))
redis.call('ZREMRANGEBYSCORE', IDLE, '-inf', whole(now_ms - STALE_MS))
redis.call('ZADD', IDLE, DELETED, CLOSED)
redis.call('EXPIRE', IDLE, whole(CALLER_S))
redis.call('EXPIRE', GONE, ARGV[2])
redis.call('EXPIRE', OWNERS, ARGV[2])
redis.call('EXPIRE', KEYS[49], MARKS_S)
return nothing
