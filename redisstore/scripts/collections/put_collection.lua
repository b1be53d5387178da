-- put_collection.lua: create a collection, or change the revision that the caller has read. lib/collection.lua lists the states and what holds.
-- A repeated call has the token of the record's last put: it changes nothing. A put of what is stored already changes nothing either.
-- KEYS[1] …:records     hash  collection -> record; #drawn: the number drawn last
-- KEYS[2] …:index       zset  collection -> 0
-- KEYS[3] …:unfinished  zset  collection -> number of its transition
-- KEYS[4] …:swept       zset  collection -> instant of its last sweep, Unix µs; of a new one when it was created
-- KEYS[5] …:owned       zset  "<owner>\t<collection>" -> 0
-- ARGV[1] collection; ARGV[2] the revision that the caller has read, 0: there is no collection; ARGV[3] state: enabled, disabled or deleted
-- ARGV[4] how many names it may have; ARGV[5] data, JSON; ARGV[6] the name of this call: letters and digits; ARGV[7] its owner, empty: none
-- ARGV[8] how many collections the owner of a new one may have with it; 0: any number
-- Returns the server's time, Unix µs; a number; record and last sweep, as they are stored now. The number: 1 the collection is as it was put;
-- 0 it is at another revision; -1 it does not exist; -2 it is being deleted; -3 the maximum number of collections is reached; -4 that of the owner is.
local RECORDS, INDEX, UNFINISHED, SWEPT, OWNED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local name, seen, state, max_names, data, token, owner = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
-- uses: clock collection
local stored = redis.call('HMGET', RECORDS, name, DRAWN)
local swept = instant_text(redis.call('ZSCORE', SWEPT, name))
redis.call('ZSCORE', UNFINISHED, name)
local has = redis.call('ZLEXCOUNT', OWNED, '[' .. owner .. '\t', '(' .. owner .. '\n') -- the collections of the owner
local c
if stored[1] then
  c = read_collection(stored[1])
  if not c then return strange(name) end
  local same = c.state == state and c.max_names == max_names and c.data == data and c.owner == owner
  local code
  if c.token == token then
    code = 1
  elseif c.state == 'deleted' and not (same and c.revision == seen) then
    code = -2
  elseif c.revision ~= seen then
    code = 0
  elseif same then
    code = 1
  end
  if code then return { whole(now_us), code, stored[1], swept } end
elseif seen ~= '0' then
  return { whole(now_us), -1 }
end
if redis.call('ZCARD', INDEX) >= MAX_COLLECTIONS and not c then return { whole(now_us), -3 } end
if not c and owner ~= '' and ARGV[8] ~= '0' and has >= tonumber(ARGV[8]) then return { whole(now_us), -4 } end

local drawn = whole(math.max(now_us, (tonumber(stored[2] or '') or 0) + 1))
if c then
  if c.state ~= state then c.transition = drawn end
else
  c = { creation = drawn, transition = '0', created_ms = whole(now_ms), owner = '' }
  swept = whole(now_us)
  redis.call('ZADD', INDEX, 0, name)
  redis.call('ZADD', SWEPT, swept, name)
end
if c.owner ~= owner then
  if c.owner ~= '' then redis.call('ZREM', OWNED, owned(c.owner, name)) end
  if owner ~= '' then redis.call('ZADD', OWNED, 0, owned(owner, name)) end
end
c.revision, c.state, c.max_names, c.changed_ms, c.token, c.data, c.owner = drawn, state, max_names, whole(now_ms), token, data, owner
local text = collection_text(c)
redis.call('HSET', RECORDS, name, text, DRAWN, drawn)
if c.transition == drawn then redis.call('ZADD', UNFINISHED, drawn, name) end
return { whole(now_us), 1, text, swept }
