-- change_queue.lua: change in which queue a schedule lives, if it lives where the caller thinks.
-- KEYS[1] …:schedules  hash  schedule -> queue
-- ARGV[1] schedule; ARGV[2] queue it is thought to live in; ARGV[3] the new queue; empty: the schedule is removed
-- Returns 1 if that changed anything.
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
if ARGV[3] == '' then return redis.call('HDEL', KEYS[1], ARGV[1]) end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
