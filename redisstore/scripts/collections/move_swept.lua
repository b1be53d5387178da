-- move_swept.lua: move the instant of a collection's last sweep to now, if it is the one that the caller has seen: of many callers one does.
-- The last three digits of the new instant are the caller's, so that the same call again answers as the first; another caller who saw the same
-- is taken for it one time in a thousand, and sweeps too.
-- KEYS[1] …:swept  zset  collection -> instant of its last sweep, Unix µs
-- ARGV[1] collection; ARGV[2] the instant that the caller has seen; ARGV[3] 0 to 999
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
if moved == seen then moved = moved + 1000 end -- else the same call again could not be told
redis.call('ZADD', SWEPT, whole(moved), name)
return { whole(now_us), 1, whole(moved) }
