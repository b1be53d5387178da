-- block_outbox.lua: note why a line of an outbox cannot be carried, for people who look for it, or that it can be carried again.
-- KEYS[1] …:state    hash  layout; blocked: "<line>\t<note>" of the line that was noted last
-- KEYS[2] …:outbox   zset  entries that wait, see lib/outbox.lua
-- KEYS[3] …:carried  hash  "!<line>" -> "<when it was noted, Unix ms> <since when it is blocked, Unix ms> <why>", a note
-- ARGV[1] the line; ARGV[2] for how long it has been blocked, ms; ARGV[3] why; empty: it is not blocked any more
-- Returns 1, or 0 if nothing was noted because the line has no entry: a late call.
local STATE, OUTBOX, CARRIED = KEYS[1], KEYS[2], KEYS[3]
-- uses: clock layout strings
local state = redis.call('HMGET', STATE, 'layout', 'blocked')
local refusal = newer(state[1])
if refusal then return refusal end
local line, why = ARGV[1], ARGV[3]
local waits = redis.call('ZRANGEBYLEX', OUTBOX, '[' .. line .. '\t', '(' .. line .. '\n', 'LIMIT', '0', '1')[1]
redis.call('HLEN', CARRIED)
if why == '' then
  redis.call('HDEL', CARRIED, '!' .. line)
  if match(state[2] or '', '^[^\t]*') == line then redis.call('HDEL', STATE, 'blocked') end
  return 1
end
if not waits then return 0 end
local note = whole(now_ms) .. ' ' .. whole(math.max(now_ms - tonumber(ARGV[2]), 0)) .. ' ' .. why
redis.call('HSET', CARRIED, '!' .. line, note)
redis.call('HSET', STATE, 'blocked', line .. '\t' .. note)
return 1
