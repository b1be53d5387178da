-- enqueue_one.lua: add one job that runs now, with an ID that the enqueuer generated: the fast form of enqueue.lua, for a caller whose last
-- call was answered a moment ago. It leaves other jobs to enqueue.lua, under the same number, and writes nothing then.
-- KEYS[1] …:ready    list  IDs of jobs to run now
-- KEYS[2] …:jobs     hash  job ID -> envelope
-- KEYS[3] …:callers  zset  enqueuer -> instant and number of its last call, see lib/callers.lua
-- KEYS[4] …:idle     zset  sleeping worker -> instant it went to sleep, Unix ms; see lib/gate.lua
-- KEYS[5] …:state    hash  enqueued: all jobs that this script has added
-- ARGV[1] the caller
-- ARGV[2] its score in callers after this call: the stored instant, the number of this call
-- ARGV[3] the ID; ARGV[4] the envelope, no longer than 2 KiB
-- Returns 1 if the job was added, else 0.
local READY, JOBS, CALLERS, IDLE, STATE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local ARGV = ARGV -- a local is found faster than a global
-- uses: gate

-- One command reads and moves the guard. It is the first write, and does nothing if the caller is not known (its last call is
-- long ago, or the server has lost its data), or if this call, or a later one of the caller, was completed before. When the server is out
-- of memory, this command is refused too.
--
-- Nothing is read before it, because a read costs a tenth of the script. The four commands after the guard fail if a key has a wrong type.
-- Then the writes are undone: enqueue.lua finds everything unchanged and reports the error. The caller's number is then the one
-- before this call: so this call may be repeated, and no call before it.
if redis.call('ZADD', CALLERS, 'XX', 'GT', 'CH', ARGV[2], ARGV[1]) == 0 then return 0 end
local stored, counted, pushed
-- undone below: all writes up to there
local longest = redis.pcall('ZPOPMIN', IDLE)
local worker = longest[1]
if not longest.err and worker ~= CLOSED then
  -- undone below: all writes up to there
  stored = redis.pcall('HSETNX', JOBS, ARGV[3], ARGV[4])
  if stored == 1 then
    -- undone below: all writes up to there
    counted = redis.pcall('HINCRBY', STATE, 'enqueued', '1')
    -- undone below: all writes up to there
    pushed = type(counted) == 'number' and redis.pcall('RPUSH', READY, ARGV[3])
  end
end
if type(pushed) ~= 'number' then
  -- unread: these were written a moment ago, so their types are right
  if type(counted) == 'number' then redis.call('HINCRBY', STATE, 'enqueued', '-1') end
  -- unread: as above
  if stored == 1 then redis.call('HDEL', JOBS, ARGV[3]) end
  -- unread: as above
  if worker then redis.call('ZADD', IDLE, longest[2], worker) end
  redis.call('ZADD', CALLERS, string.format('%d', tonumber(ARGV[2]) - 1), ARGV[1])
  return 0
end
if worker then
  -- The caller's instant is at most oneFor, 10 s, old. So a worker that went to sleep 2 s before it or later is registered for less than STALE_MS, 13 s.
  local prefix, partition = string.match(IDLE, '^(.-){(.*)}')
  if longest[2] / 1000 >= ARGV[2] / 2 ^ 20 - 2 then
    redis.call('PUBLISH', prefix .. 'wake:' .. worker, 'w' .. partition) -- as wake_popped
  else
    -- uses: clock limits wake
    wake_popped(IDLE, prefix .. 'wake:', worker, longest[2])
  end
end
return 1
