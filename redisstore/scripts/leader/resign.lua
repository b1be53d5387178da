-- resign.lua: release the leader's lease and notify the other candidates.
-- KEYS[1] …:leader  hash  id, term, until (Unix ms)
-- ARGV[1] candidate; ARGV[2] channel to which all candidates subscribe
-- Returns 1 if the candidate led.
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return 0 end
redis.call('HDEL', KEYS[1], 'id', 'until')
redis.call('PUBLISH', ARGV[2], 'e')
return 1
