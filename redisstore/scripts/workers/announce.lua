-- announce.lua: record which job names a worker handles. A live worker calls this every four minutes.
-- KEYS[1] …:handlers  hash  job name -> workers that handle it, see lib/handlers.lua
-- KEYS[2] …:state     hash  layout
-- ARGV[1] worker; ARGV[2...] job names
-- Returns 1.
local MAX_NAMES = 1000 -- with announcements; for other names a worker learns at its next poll that jobs are parked
-- uses: limits clock layout handlers
local refusal = newer(redis.call('HGET', KEYS[2], 'layout'))
if refusal then return refusal end
local worker, names, entries = ARGV[1], {}, {}
for i = 2, #ARGV do names[#names + 1] = ARGV[i] end
local stored = redis.call('HMGET', KEYS[1], unpack(names))
local free = MAX_NAMES - redis.call('HLEN', KEYS[1])
for i, name in ipairs(names) do
  if stored[i] or free > 0 then
    if not stored[i] then free = free - 1 end
    local list, n = { worker .. ' ' .. whole(now_s) .. ' ' }, 1
    for other, at in string.gmatch(stored[i] or '', '(%S+) (%d+) ') do
      if n < MAX_HANDLERS and other ~= worker and now_s - tonumber(at) < GONE_S then
        n = n + 1
        list[n] = other .. ' ' .. at .. ' '
      end
    end
    entries[#entries + 1] = name
    entries[#entries + 1] = table.concat(list)
  end
end
if #entries > 0 then redis.call('HSET', KEYS[1], unpack(entries)) end
return 1
