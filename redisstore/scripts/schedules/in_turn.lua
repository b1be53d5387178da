-- in_turn.lua: the schedules whose next occurrence waits for the turn of its group. It is not in due any more, and was not taken yet. It writes nothing.
-- KEYS[1] …:cursors  hash  schedule -> "<planned instant> <runs used> <kind>"
-- KEYS[2] …:places   hash  job ID -> "<place> <group>"
-- KEYS[3] …:line     zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[4] …:crashes  hash  job ID -> how often its holder vanished: an occurrence that was taken and came back is there
-- ARGV[1] position in cursors, 0: from the beginning; ARGV[2] of about how many schedules
-- Returns the next position (0: there are no more), then two values for each: schedule, planned instant. One may be there twice.
-- uses: line
local answer, ids, names, instants = {}, {}, {}, {}
local scanned = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
answer[1] = scanned[1]
for i = 1, #scanned[2], 2 do
  local instant, kind = string.match(scanned[2][i + 1], '^(%S+) %d+ (.)')
  if kind == 'p' then -- it was placed
    local n = #ids + 1
    ids[n], names[n], instants[n] = scanned[2][i] .. '@' .. instant, scanned[2][i], instant
  end
end
local members, positions = {}, {}
for i, entry in ipairs(#ids > 0 and redis.call('HMGET', KEYS[2], unpack(ids)) or {}) do
  local member = entry and line_member(ids[i], entry)
  if member then members[#members + 1], positions[#positions + 1] = member, i end
end
for k, score in ipairs(#members > 0 and redis.call('ZMSCORE', KEYS[3], unpack(members)) or {}) do
  local i = positions[k]
  if score and not redis.call('HGET', KEYS[4], ids[i]) then answer[#answer + 1], answer[#answer + 2] = names[i], instants[i] end
end
return answer
