-- abdicate.lua: hand the leader's lease back and tell the other candidates.
-- KEYS[1] …:leader  hash  id, term, until (Unix ms)
-- ARGV[1] candidate; ARGV[2] channel on which candidates listen
-- Returns 1 if it led.
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return 0 end
redis.call('HDEL', KEYS[1], 'id', 'until')
redis.call('PUBLISH', ARGV[2], 'e')
return 1
