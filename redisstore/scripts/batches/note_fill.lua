-- note_fill.lua: note at the home of a batch which items are sent next, and to which partitions.
-- Model: NOTE in models/batch.pml.
-- KEYS[1] …:batch:<batch>  hash  its record, see lib/batch.lua
-- KEYS[2] …:state          hash  layout
-- ARGV[1] the position before the items; ARGV[2] the hash of all items up to there; ARGV[3] the position of the last one; ARGV[4] the hash of all up to
-- there; ARGV[5...] the partitions, "<queue>/<index>"
-- Returns time (us); 1 noted, or noted before; 0 there is no such batch; 3 other items were noted at one of these positions, the batch has ended, or these
-- items were not noted and it is not open; the fields of the record.
local BATCH, STATE = KEYS[1], KEYS[2]
-- uses: clock layout batch
local refusal = newer(redis.call('HGET', STATE, 'layout'))
if refusal then return refusal end
local record, fields = read_record(BATCH)
if not record then return { whole(now_us), 0, {} } end
if record.ended then return { whole(now_us), 3, fields } end -- a partition that has forgotten the batch would add items that were noted again
local before, position, stored = tonumber(ARGV[1]), tonumber(ARGV[3]), tonumber(record.position or 0)
if position < stored then return { whole(now_us), 1, fields } end
if position == stored and position > 0 then return { whole(now_us), record.hash == ARGV[4] and 1 or 3, fields } end
if before ~= stored or record.hash ~= ARGV[2] or record.state ~= 'open' or record.sealing then return { whole(now_us), 3, fields } end
local changes = { 'position', ARGV[3], 'hash', ARGV[4], 'rev', whole(tonumber(record.rev) + 1) }
for i = 5, #ARGV do
  if not record['p:' .. ARGV[i]] then changes[#changes + 1], changes[#changes + 2] = 'p:' .. ARGV[i], UNKNOWN end
end
redis.call('HSET', BATCH, unpack(changes))
-- read after write: the answer has the new record
return { whole(now_us), 1, redis.call('HGETALL', BATCH) }
