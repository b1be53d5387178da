-- raise_secrets.lua: store the version in which programs seal the secrets of collections. It never goes back. A repeated call changes nothing.
-- KEYS[1] …:records  hash  #secrets: the version; the other fields are in lib/collection.lua
-- ARGV[1] the version
-- Returns the stored version.
local RECORDS, VERSION = KEYS[1], '#secrets' -- no collection has that name
local version = tonumber(ARGV[1])
local stored = tonumber(redis.call('HGET', RECORDS, VERSION) or '') or 0
if stored >= version then return stored end
redis.call('HSET', RECORDS, VERSION, ARGV[1])
return version
