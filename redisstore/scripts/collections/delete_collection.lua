-- delete_collection.lua: remove a collection that is deleted and has no names left: the last step of its deletion. If the collection is
-- gone, or was created again since, there is nothing to remove: so a repeated call has the same answer as the first.
-- KEYS[1] …:records             hash  collection -> record (see lib/collection.lua)
-- KEYS[2] …:index               zset  collection -> 0
-- KEYS[3] …:unfinished          zset  collection -> number of its transition
-- KEYS[4] …:swept               zset  collection -> instant of its last sweep, Unix µs
-- KEYS[5] …:names:<collection>  zset  name -> 0
-- KEYS[6] …:owned               zset  "<owner>\t<collection>" -> 0
-- ARGV[1] collection; ARGV[2] its creation; ARGV[3] the revision that the caller has read
-- Returns a number: 1 it is gone; 0 it is at another revision; -1 it is not deleted; -2 it has names. And the record.
local RECORDS, INDEX, UNFINISHED, SWEPT, NAMES, OWNED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local name, creation, seen = ARGV[1], ARGV[2], ARGV[3]
-- uses: clock collection
local text = redis.call('HGET', RECORDS, name)
redis.call('ZSCORE', INDEX, name)
redis.call('ZSCORE', UNFINISHED, name)
redis.call('ZSCORE', SWEPT, name)
redis.call('ZCARD', OWNED)
local names = redis.call('ZCARD', NAMES)
if not text then return { 1 } end
local c = read_collection(text)
if not c then return strange(name) end
if c.creation ~= creation then return { 1 } end
if c.revision ~= seen then return { 0, text } end
if c.state ~= 'deleted' then return { -1, text } end
if names > 0 then return { -2, text } end
redis.call('HDEL', RECORDS, name)
redis.call('ZREM', INDEX, name)
redis.call('ZREM', UNFINISHED, name)
redis.call('ZREM', SWEPT, name)
if c.owner ~= '' then redis.call('ZREM', OWNED, owned(c.owner, name)) end
return { 1 }
