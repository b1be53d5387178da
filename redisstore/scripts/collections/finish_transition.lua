-- finish_transition.lua: record that a change of a collection's state is complete, unless another change has begun since.
-- Only delete_collection.lua finishes a deletion: until then its collection is among the unfinished ones. A repeated call changes
-- nothing.
-- KEYS[1] …:records     hash  collection -> record (see lib/collection.lua)
-- KEYS[2] …:unfinished  zset  collection -> number of its transition
-- ARGV[1] collection; ARGV[2] the number of the transition
-- Returns 1 if it is finished by this call, else 0.
local RECORDS, UNFINISHED = KEYS[1], KEYS[2]
local name, transition = ARGV[1], ARGV[2]
-- uses: clock collection
local text = redis.call('HGET', RECORDS, name)
redis.call('ZSCORE', UNFINISHED, name)
if not text then return 0 end
local c = read_collection(text)
if not c then return strange(name) end
if c.transition ~= transition or c.transition == '0' or c.state == 'deleted' then return 0 end
c.transition = '0'
redis.call('ZREM', UNFINISHED, name) -- comes first: it makes the other write possible when the server is out of memory
redis.call('HSET', RECORDS, name, collection_text(c))
return 1
