-- change_registry.lua: change where a schedule lives, or remove it from the registry: one compare-and-swap with the entry that the caller knows.
-- Model: CAS_BODY in models/home.pml.
-- KEYS[1] …:schedules  zset  "<schedule>\t<queue>\t<generation>" -> 0, one member a schedule
-- ARGV[1] the entry as the caller knows it; ARGV[2] the entry that takes its place; empty: none
-- Returns 1 if the registry has the second one now, else 0.
local REGISTRY, known, new = KEYS[1], ARGV[1], ARGV[2]
if not redis.call('ZSCORE', REGISTRY, known) then
  return new ~= '' and redis.call('ZSCORE', REGISTRY, new) and 1 or 0 -- a repeated call
end
redis.call('ZREM', REGISTRY, known)
if new ~= '' then redis.call('ZADD', REGISTRY, 0, new) end
return 1
