-- reserve.lua: add a name to a collection that is not deleted and has room, or find it there. The count and the addition are one step, so that
-- a collection never gets more names than it may have. A repeated call finds the name and returns 2.
-- KEYS[1] …:records             hash  collection -> record (see lib/collection.lua)
-- KEYS[2] …:names:<collection>  zset  name -> 0
-- KEYS[3] …:swept               zset  collection -> instant of its last sweep, Unix µs
-- ARGV[1] collection; ARGV[2] name
-- Returns the server's time, Unix µs; a number; record; last sweep. The number: 1 the name is there and is new; 2 it was there; -1 there is no
-- such collection; -2 it is being deleted; -3 it has as many names as it may have.
local RECORDS, NAMES, SWEPT = KEYS[1], KEYS[2], KEYS[3]
local collection, name = ARGV[1], ARGV[2]
-- uses: clock collection
local text = redis.call('HGET', RECORDS, collection)
local swept = instant_text(redis.call('ZSCORE', SWEPT, collection))
local known, names = redis.call('ZSCORE', NAMES, name), redis.call('ZCARD', NAMES)
if not text then return { whole(now_us), -1 } end
local c = read_collection(text)
if not c then return strange(collection) end
if c.state == 'deleted' then return { whole(now_us), -2, text, swept } end
if known then return { whole(now_us), 2, text, swept } end
if names >= tonumber(c.max_names) then return { whole(now_us), -3, text, swept } end
redis.call('ZADD', NAMES, 0, name)
return { whole(now_us), 1, text, swept }
