-- acknowledge.lua: add, replace or remove an acknowledgement. A late copy of a call changes nothing: the entry is no longer what the caller has read, also
-- after a removal, of which a trace remains for an hour.
-- KEYS[1] …:acknowledged  hash  "schedule\t<name>" or "failures\t<job name>\t<hash>" -> "<when, Unix ms> <call> <JSON>"; removed: "<when> <call> "
-- ARGV[1] the field; ARGV[2] the entry that the caller has read (empty: none); ARGV[3] a unique name of this call; ARGV[4] the JSON, with its end as "until"
-- in Unix ms, if it has one; empty: remove it; ARGV[5] the number of entries that there may be; ARGV[6] the time after which an entry is removed, ms
-- Returns 1 if it is done, 0 if the entry is another one than the caller has read, -1 if there are too many.
-- uses: limits clock
local ACKNOWLEDGED, field, call, json = KEYS[1], ARGV[1], ARGV[3], ARGV[4]
local HOUR_MS = 3600000
local entry = redis.call('HGET', ACKNOWLEDGED, field)
if entry and string.match(entry, '^%d+ (%S+) ') == call then return 1 end
if (entry or '') ~= ARGV[2] then return 0 end
local old, left = {}, redis.call('HLEN', ACKNOWLEDGED)
if json ~= '' and not entry then
  local all = redis.call('HGETALL', ACKNOWLEDGED)
  for i = 1, #all, 2 do
    local at, text = string.match(all[i + 1], '^(%d+) %S+ (.*)$')
    local over = tonumber(string.match(text or '', '"until":(%d+)[,}]') or 0)
    if not at or text == '' and tonumber(at) < now_ms - HOUR_MS or over > 0 and over < now_ms or tonumber(at) < now_ms - tonumber(ARGV[6]) then old[#old + 1] = all[i] end
    if #old == MAX_ITEMS then break end
  end
  left = left - #old
  if left >= tonumber(ARGV[5]) then return -1 end
end
if #old > 0 then redis.call('HDEL', ACKNOWLEDGED, unpack(old)) end
if json == '' and not entry then return 1 end
redis.call('HSET', ACKNOWLEDGED, field, whole(now_ms) .. ' ' .. call .. ' ' .. json)
return 1
