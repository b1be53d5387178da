-- address_outbox.lua: put waiting entries of an outbox into the lines of their target partitions, at most 500. Each gets a new number.
-- Model: ADDRESS in models/outbox.pml.
-- KEYS[1] …:state    hash  layout, outbox, blocked
-- KEYS[2] …:outbox   zset  entries that wait, see lib/outbox.lua
-- KEYS[3] …:carried  hash  target partition -> what it has taken: a new number is above the highest that was noted; "!<line>" -> why it is blocked
-- ARGV[1] the line in which they are; ARGV[2...] two values for each, in their order: the member without the line and the tab behind it, the index of the
-- target partition
-- Returns time (us); how many were moved: those before the first that is not in the line any more, and none if the first given one is not
-- the first of the line. So a call that is sent again, or comes late, changes nothing.
local STATE, OUTBOX, CARRIED = KEYS[1], KEYS[2], KEYS[3]
-- uses: limits clock layout strings outbox
local state = redis.call('HMGET', STATE, 'layout', 'outbox', 'blocked')
local refusal = newer(state[1])
if refusal then return refusal end
local line = ARGV[1]
local first = redis.call('ZRANGEBYLEX', OUTBOX, '[' .. line .. '\t', '(' .. line .. '\n', 'LIMIT', '0', '1')[1]
if not first or first ~= line .. '\t' .. ARGV[2] then return { whole(now_us), 0 } end
local members, targets = {}, {}
for i = 2, #ARGV, 2 do
  members[#members + 1], targets[#targets + 1] = line .. '\t' .. ARGV[i], queue_of(line) .. '/' .. ARGV[i + 1]
end
local there, carried = redis.call('ZMSCORE', OUTBOX, unpack(members)), redis.call('HMGET', CARRIED, unpack(targets))
local box, out, into = read_outbox(state[2]), {}, {}
for i, member in ipairs(members) do
  if not there[i] then break end
  local number = draw_number(box, sum_of(match(carried[i] or '', '^(%d+) ')) or 0)
  out[i], into[2 * i - 1], into[2 * i] = member, '0', targets[i] .. '\t' .. number .. sub(member, #line + 18)
end
redis.call('ZREM', OUTBOX, '') -- the first write needs no memory
redis.call('ZREM', OUTBOX, unpack(out))
redis.call('ZADD', OUTBOX, unpack(into))
redis.call('HSET', STATE, 'outbox', outbox_text(box))
redis.call('HDEL', CARRIED, '!' .. line) -- see block_outbox.lua
if match(state[3] or '', '^[^\t]*') == line then redis.call('HDEL', STATE, 'blocked') end
return { whole(now_us), #out }
