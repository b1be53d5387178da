-- unlist_queue.lua: remove a queue from the registry, but keep its number of partitions. A number above 1 is kept permanently: it comes from the
-- options of a program. A queue without options has a 1: it is kept only while a process may still have to finish the deletion.
-- KEYS[1] …:queues  hash  queue -> number of its partitions; "/<queue>" of a deleted one -> that number; "1 <when it was deleted, Unix s>"
-- ARGV[1] the queue (empty: only old entries are removed); ARGV[2] its number of partitions; ARGV[3] how many random entries are looked at
-- Returns 1.

-- A call adds one entry, and removes the old entries of deleted queues among some random entries of the registry. So at most about n/40 of n entries
-- are old, for any number of queues that are created and deleted. A sweep looks at more entries. A 1 without a time was written by an earlier
-- version: it gets a time now, and so is removed an hour later.
local QUEUES = KEYS[1]
local PREFIX = '/'
local KEPT_S = 3600
-- uses: clock
local name, partitions = ARGV[1], ARGV[2]
local old, timeless, some = {}, {}, redis.call('HRANDFIELD', QUEUES, ARGV[3], 'WITHVALUES')
for i = 1, #some, 2 do
  local at = tonumber(string.match(some[i + 1], '^1 (%d+)$') or '')
  if string.sub(some[i], 1, 1) == PREFIX and at and now_s - at > KEPT_S then old[#old + 1] = some[i] end
  if string.sub(some[i], 1, 1) == PREFIX and some[i + 1] == '1' then
    timeless[#timeless + 1], timeless[#timeless + 2] = some[i], '1 ' .. whole(now_s)
  end
end
redis.call('HDEL', QUEUES, name, unpack(old)) -- comes first: it makes the other write possible when the server is out of memory
if #timeless > 0 then redis.call('HSET', QUEUES, unpack(timeless)) end
if name ~= '' then redis.call('HSET', QUEUES, PREFIX .. name, partitions == '1' and '1 ' .. whole(now_s) or partitions) end
return 1
