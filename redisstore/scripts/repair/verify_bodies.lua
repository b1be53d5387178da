-- verify_bodies.lua: list the jobs whose IDs are in none of the sorted sets, or in more than one, a page of …:jobs at a time. It writes nothing.
-- KEYS[1] …:jobs    hash  job ID -> envelope
-- KEYS[2] …:due     zset  job ID -> instant it is due, Unix ms
-- KEYS[3] …:dead    zset  job ID -> instant of its death, Unix ms
-- KEYS[4] …:behind  zset  "<schedule>\t<planned instant>" -> 0: occurrences behind the one in open; "~" before the instant: backfilled
-- KEYS[5] …:line    zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[6] …:places  hash  job ID -> "<place> <group>"
-- ARGV[1] the position in the list, as the last call answered; 0 begins; ARGV[2] about how many to read
-- Returns the new position, 0 at the end; how many jobs it has read; the bytes of their envelopes; the IDs of those that are in none
-- of the sets; the IDs of those that are in several.
local JOBS, DUE, DEAD, BEHIND = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
-- uses: limits clock strings definition open flight later line
local page = redis.call('HSCAN', JOBS, ARGV[1], 'COUNT', ARGV[2])
local ids, bytes = {}, 0
for i = 1, #page[2], 2 do
  ids[#ids + 1] = page[2][i]
  bytes = bytes + #page[2][i + 1]
end
local waits = redis.call('ZCARD', BEHIND) > 0
local none, several = {}, {}
for first = 1, #ids, MAX_ITEMS do
  local last = math.min(first + MAX_ITEMS - 1, #ids)
  local due, dead = redis.call('ZMSCORE', DUE, unpack(ids, first, last)), redis.call('ZMSCORE', DEAD, unpack(ids, first, last))
  local some = {}
  for i = first, last do some[#some + 1] = ids[i] end
  local grouped = find_grouped(true, KEYS[6], KEYS[5], some) -- the flag may be lost
  for i = first, last do
    local places = (due[i - first + 1] and 1 or 0) + (dead[i - first + 1] and 1 or 0)
    if waits then
      local name, planned = occurrence(ids[i])
      if name and waits_behind(BEHIND, name, planned) then places = places + 1 end
    end
    if grouped.members[i - first + 1] then places = places + 1 end
    if places == 0 then none[#none + 1] = ids[i] end
    if places > 1 then several[#several + 1] = ids[i] end
  end
end
return { page[1], #ids, bytes, none, several }
