-- move_swept.lua: move the instant of a collection's last sweep to now, if it is the one that the caller has read: only one of many callers
-- succeeds. The last three digits of the new instant are the caller's, so that a repeated call has the same answer as the first. Another caller
-- with the same three digits (one in a thousand) gets that answer too, and also sweeps.
-- KEYS[1] …:swept  zset  collection -> instant of its last sweep, Unix µs
-- ARGV[1] collection; ARGV[2] the instant that the caller has read; ARGV[3] 0 to 999
-- Returns the server's time, Unix µs; a number: 1 it is moved by this call, 0 it is another one, -1 there is no such collection; the instant now.
local SWEPT = KEYS[1]
local name, seen, digits = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
-- uses: clock
local stored = tonumber(redis.call('ZSCORE', SWEPT, name) or '')
if not stored then return { whole(now_us), -1 } end
if stored ~= seen then
  return { whole(now_us), stored % 1000 == digits and 1 or 0, whole(stored) }
end
local moved = now_ms * 1000 + digits
if moved == seen then moved = moved + 1000 end -- else a repeated call could not be recognized
redis.call('ZADD', SWEPT, whole(moved), name)
return { whole(now_us), 1, whole(moved) }
