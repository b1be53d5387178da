-- soonest.lua: the occurrences among the delayed jobs of a partition that are at the cursors of their schedules, some delayed jobs at a time, and the
-- schedules that owe one. It writes nothing.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:owed       zset  schedule -> instant since which its next occurrence is to be placed, Unix ms
-- KEYS[3] …:state      hash  groups: a job of the partition belongs to a group
-- KEYS[4] …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[5] …:cursors    hash  schedule -> "<planned instant> <runs used> <kind>"
-- KEYS[6] …:jobs       hash  job ID -> envelope
-- ARGV[1] position in due; ARGV[2] of how many delayed jobs; ARGV[3] how many schedules of owed are returned, and only from position 0
-- Returns how many delayed jobs were read, -1 if the partition has no schedules: a queue of jobs only may have many delayed ones; 1 if a job belongs to a
-- group; a list of schedules in owed; a list with two values for each occurrence: its ID, and the instant it is due, empty if it was cancelled; when the last
-- delayed job that was read is due, false if none was read.
-- uses: strings void
if redis.call('HLEN', KEYS[1]) == 0 then return { -1, 0, {}, {}, false } end
local from, found = tonumber(ARGV[1]), {}
local owed = from == 0 and redis.call('ZRANGE', KEYS[2], 0, tonumber(ARGV[3]) - 1) or {}
local due = redis.call('ZRANGE', KEYS[4], from, from + tonumber(ARGV[2]) - 1, 'WITHSCORES')
local ids, names, planned, scores = {}, {}, {}, {}
for i = 1, #due, 2 do
  local name, instant = string.match(due[i], '^(.+)@([^@]+)$')
  if name then
    local n = #ids + 1
    ids[n], names[n], planned[n], scores[n] = due[i], name, instant, due[i + 1]
  end
end
local next, places = {}, {}
for i, cursor in ipairs(#names > 0 and redis.call('HMGET', KEYS[5], unpack(names)) or {}) do
  local at, kind = string.match(cursor or '', '^(%S+) %d+ (%S+)$')
  if kind and kind ~= 's' and at == planned[i] then next[#next + 1], places[#places + 1] = ids[i], i end
end
for k, body in ipairs(#next > 0 and redis.call('HMGET', KEYS[6], unpack(next)) or {}) do
  local n = #found
  found[n + 1], found[n + 2] = next[k], body and is_mark_of_void(body) and '' or scores[places[k]]
end
return { #due / 2, redis.call('HEXISTS', KEYS[3], 'groups'), owed, found, due[#due] or false }
