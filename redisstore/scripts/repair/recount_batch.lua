-- recount_batch.lua: correct how many members of a batch are left in a partition, if its counts have not changed since they were read. Members of which nothing
-- is left count as cancelled; those that were not counted are added.
-- KEYS[1] …:state    hash  layout, batches
-- KEYS[2] …:batches  hash  batch -> its counts, see lib/members.lua
-- KEYS[3] …:reports  zset  batch -> instant from which its counts are to be reported, Unix ms
-- ARGV[1] the batch; ARGV[2] the version of its counts; ARGV[3] how many members are left in the partition, without those on their way to other ones
-- Returns 1 if the counts were corrected, else 0.
local STATE, BATCHES, REPORTS = KEYS[1], KEYS[2], KEYS[3]
-- uses: clock layout members
local refusal = newer(redis.call('HGET', STATE, 'layout'))
if refusal then return refusal end
local c = counts_of(redis.call('HGET', BATCHES, ARGV[1]))
check_members(BATCHES, REPORTS)
if c.absent or whole(c.version) ~= ARGV[2] then return { 0 } end
local excess = members_left(c) - c.away - tonumber(ARGV[3])
local counts = {}
if excess > 0 then count_member(counts, ARGV[1], 'cancelled', excess) end
if excess < 0 then count_member(counts, ARGV[1], 'added', -excess) end
if excess ~= 0 then save_members(counts, BATCHES, REPORTS, STATE) end
return { excess ~= 0 and 1 or 0 }
