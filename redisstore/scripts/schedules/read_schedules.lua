-- read_schedules.lua: read schedules where they live, all at one instant. It writes nothing.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:cursors    hash  schedule -> "<planned instant> <runs used> <kind>"
-- KEYS[3] …:counters   hash  <schedule>/started, …
-- KEYS[4] …:origins    hash  schedule -> queues that it has left
-- KEYS[5] …:notes      hash  schedule -> the note of its pause
-- KEYS[6] …:owners     hash  schedule -> who declared it
-- KEYS[7] …:last       hash  schedule -> its last outcome
-- KEYS[8] …:owed       zset  schedule -> instant since which its next occurrence is to be placed, Unix ms
-- KEYS[9] …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[10] …:jobs      hash  job ID -> envelope
-- ARGV[1] how many counters each schedule has; then their fields, without its name; then the names of the schedules
-- Returns ten lists, with a value for each schedule, and in the third list a value for each counter of each: definition; cursor; counters; origins; note;
-- owner; last outcome; score in owed; score in due, and envelope, of the occurrence at its cursor. A value that is not there is false.
local fields, names, counted = tonumber(ARGV[1]), {}, {}
for i = fields + 2, #ARGV do
  names[#names + 1] = ARGV[i]
  for k = 2, fields + 1 do counted[#counted + 1] = ARGV[i] .. ARGV[k] end
end
local cursors = redis.call('HMGET', KEYS[2], unpack(names))
local scores, bodies, ids, places = {}, {}, {}, {}
for i, cursor in ipairs(cursors) do
  scores[i], bodies[i] = false, false
  local planned, kind = string.match(cursor or '', '^(%S+) %d+ (%S+)$')
  if kind and kind ~= 's' then -- it is an occurrence's
    ids[#ids + 1], places[#places + 1] = names[i] .. '@' .. planned, i
  end
end
if #ids > 0 then
  local due, envelopes = redis.call('ZMSCORE', KEYS[9], unpack(ids)), redis.call('HMGET', KEYS[10], unpack(ids))
  for k, i in ipairs(places) do scores[i], bodies[i] = due[k], envelopes[k] end
end
return {
  redis.call('HMGET', KEYS[1], unpack(names)), cursors, redis.call('HMGET', KEYS[3], unpack(counted)), redis.call('HMGET', KEYS[4], unpack(names)),
  redis.call('HMGET', KEYS[5], unpack(names)), redis.call('HMGET', KEYS[6], unpack(names)), redis.call('HMGET', KEYS[7], unpack(names)),
  redis.call('ZMSCORE', KEYS[8], unpack(names)), scores, bodies,
}
