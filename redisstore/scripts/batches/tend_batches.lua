-- tend_batches.lua: return the batches of a home that somebody must look after now, and leave them to the caller for a while.
-- KEYS[1] …:tended  zset  batch -> instant from which somebody must look after it, Unix ms
-- KEYS[2] …:state   hash  layout, outbox
-- ARGV[1] how many at most; ARGV[2] for how long they are left to the caller, ms
-- Returns time (us); 1 if jobs wait in the outbox of the home, else 0; the batches.
local TENDED, STATE = KEYS[1], KEYS[2]
-- uses: clock layout
local state = redis.call('HMGET', STATE, 'layout', 'outbox')
local refusal = newer(state[1])
if refusal then return refusal end
local batches, scores = redis.call('ZRANGEBYSCORE', TENDED, '-inf', whole(now_ms), 'LIMIT', '0', ARGV[1]), {}
for i, batch in ipairs(batches) do scores[2 * i - 1], scores[2 * i] = whole(now_ms + tonumber(ARGV[2])), batch end
if #scores > 0 then redis.call('ZADD', TENDED, unpack(scores)) end
return { whole(now_us), state[2] and not string.find(state[2], '^%d+ 0 ') and 1 or 0, batches }
