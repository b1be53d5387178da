-- count_queue.lua: count what a partition holds, and read what is shown beside the numbers, all at one instant. It writes nothing.
-- KEYS[1] …:state      hash  paused, done, enqueued, limit and the other fields that this script reads
-- KEYS[2] …:counters   hash  counters of the partition
-- KEYS[3] …:callers    zset  #enqueued -> jobs since the start, without those counted in state
-- KEYS[4] …:sessions   zset  session -> instant it lapses, Unix ms
-- KEYS[5] …:ready      list  IDs of jobs to run now
-- KEYS[6] …:stale      zset  IDs in ready that are void
-- KEYS[7] …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[8] …:dead       zset  IDs of dead jobs
-- KEYS[9] …:jobs       hash  job ID -> envelope
-- KEYS[10] …:schedules hash  schedule -> definition
-- KEYS[11] …:gone      zset  schedules that have moved away or were deleted
-- KEYS[12] …:unhandled zset  names of the jobs that are parked
-- KEYS[13] …:line      zset  jobs of groups to run now
-- KEYS[14] …:places    hash  jobs that belong to groups
-- KEYS[15] …:turns     zset  groups that may start a job
-- KEYS[16] …:grules    hash  rules and pauses of groups
-- ARGV[1] how many names of gone are read; ARGV[2] the field of the rule of the queue in grules; ARGV[3] the longest envelope that is read, bytes;
-- ARGV[4...] the fields of counters
-- Returns the fields of state; the counters; #enqueued; the sessions, each with the instant it lapses; the number of jobs to
-- run now; of delayed jobs; of dead ones; of schedules; the ID at the front of ready, and its envelope if that is not too long; the instant at which
-- the first delayed job is due; what remains of the schedules in gone; the names in unhandled; the rule of the queue; the number of jobs in line; of
-- places; of turns; since when the first of some groups waits, Unix us. What is not there is 0, empty or false.
local STATE, READY, JOBS, GRULES = KEYS[1], KEYS[5], KEYS[9], KEYS[16]
-- uses: oldest
local state = redis.call('HMGET', STATE, 'paused', 'done', 'enqueued', 'limit', 'grules', 'outbox', 'blocked', 'large', 'parked', 'stale', 'groups')
local rules, large, parked, stale, groups = state[5], state[8], state[9], state[10], state[11]
local answer = {
  state, redis.call('HMGET', KEYS[2], unpack(ARGV, 4)),
  redis.call('ZSCORE', KEYS[3], '#enqueued'), redis.call('ZRANGE', KEYS[4], 0, -1, 'WITHSCORES'),
  redis.call('LLEN', READY), redis.call('ZCARD', KEYS[7]), redis.call('ZCARD', KEYS[8]), redis.call('HLEN', KEYS[10]),
  false, false, false, {}, {}, false, 0, 0, 0, 0,
}
if answer[5] > 0 then
  local front = redis.call('LRANGE', READY, 0, 0)[1]
  answer[9] = front
  if not large or redis.call('HSTRLEN', JOBS, front) <= tonumber(ARGV[3]) then answer[10] = redis.call('HGET', JOBS, front) end
  if stale then answer[5] = math.max(answer[5] - redis.call('ZCARD', KEYS[6]), 0) end -- void IDs are not jobs
end
if answer[6] > 0 then answer[11] = redis.call('ZRANGE', KEYS[7], 0, 0, 'WITHSCORES')[2] end
if answer[8] > 0 then
  local gone = redis.call('ZRANGE', KEYS[11], 0, tonumber(ARGV[1]) - 1)
  if #gone > 0 then answer[12] = redis.call('HMGET', KEYS[10], unpack(gone)) end
end
if parked then answer[13] = redis.call('ZRANGE', KEYS[12], 0, -1) end
if rules then answer[14] = redis.call('HGET', GRULES, ARGV[2]) end
if groups then
  answer[15], answer[16], answer[17] = redis.call('ZCARD', KEYS[13]), redis.call('HLEN', KEYS[14]), redis.call('ZCARD', KEYS[15])
  answer[18] = oldest_in_line(KEYS[13], KEYS[15]) or 0
end
return answer
