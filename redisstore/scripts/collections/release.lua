-- release.lua: remove names of a collection, if it has that creation. A repeated call removes nothing.
-- KEYS[1] …:records             hash  collection -> record (see lib/collection.lua)
-- KEYS[2] …:names:<collection>  zset  name -> 0
-- ARGV[1] collection; ARGV[2] its creation; ARGV[3...] names, 500 at most
-- Returns how many were there.
local RECORDS, NAMES = KEYS[1], KEYS[2]
local collection, creation = ARGV[1], ARGV[2]
-- uses: clock collection
local text = redis.call('HGET', RECORDS, collection)
redis.call('ZCARD', NAMES)
if not text then return 0 end
local c = read_collection(text)
if not c then return strange(collection) end
if c.creation ~= creation then return 0 end
return redis.call('ZREM', NAMES, unpack(ARGV, 3))
