-- seal.lua: return whether a call of enqueue.lua or enqueue_one.lua whose answer was lost was carried out. If it was not, it will not be later.
-- Model: SEAL_BODY in models/unknown.pml.
-- KEYS[1] …:callers  zset  enqueuer -> instant and number of its last call, see lib/callers.lua
-- KEYS[2] …:state    hash  layout
-- ARGV[1] the caller; ARGV[2] number of the call, the caller's last one; ARGV[3] a later number, which no call has: that of the seal
-- ARGV[4] 1 if the caller would still be remembered if the call had been carried out; ARGV[5] how many jobs the call has
-- Returns time (us); 1 the call was carried out, 2 it was not, 3 unknown; if it was carried out, also the positions of the jobs that it has refused.
local CALLERS = KEYS[1]
local DONE, NEVER, UNKNOWN = 1, 2, 3
-- uses: limits callers clock layout refused

-- The caller makes no other call to the partition until this one is answered. So the last number of the caller is one of these:
--   the call's        it was carried out: a late copy of it adds nothing. Nothing is written, so a copy of this script finds the same.
--   an earlier one    it was not. The number of the seal is written: the other scripts refuse the call from now on.
--   the seal's        a copy of this script has written it, so the call was not carried out.
--   none              the same as an earlier one, unless the caller was forgotten because of its age.
local layout = redis.call('HGET', KEYS[2], 'layout')
local refusal = newer(layout)
if refusal then return refusal end
local last = redis.call('ZMSCORE', CALLERS, ARGV[1])[1]
local number, seal = tonumber(ARGV[2]) % ROUND, tonumber(ARGV[3]) % ROUND
local at = last and tonumber(last) % ROUND
if at == number then
  local answer = { now_us, DONE }
  for position in pairs(read_refused(CALLERS, ARGV[1], tonumber(last), tonumber(ARGV[5]))) do answer[#answer + 1] = position end
  return answer
end
if at == seal then return { now_us, NEVER } end
if at and (number - at) % ROUND >= ROUND / 2 or not at and ARGV[4] ~= '1' then return { now_us, UNKNOWN } end

redis.call('ZREM', CALLERS, '') -- makes the other writes possible when the server is out of memory
local since_s = last and math.max(now_s, math.floor(tonumber(last) / ROUND)) or now_s -- never earlier, as in enqueue.lua
redis.call('ZADD', CALLERS, whole(since_s * ROUND + seal), ARGV[1])
-- without a layout the partition is new: enqueue.lua must see that, because it lists the queue
if layout and layout ~= LAYOUT then redis.call('HSET', KEYS[2], 'layout', LAYOUT) end
return { now_us, NEVER }
