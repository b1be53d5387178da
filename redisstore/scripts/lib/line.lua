-- line: jobs that belong to a group.

-- The hash places has job ID -> "<place> <group>" for each job of a group, as long as the job exists: an occurrence from its placement on. A place is a number of 16 digits;
-- 0: the job has not waited to run yet. A job keeps its place while it is in flight or parked. The sorted set line has
-- "<group>\t<place>\t<job ID>" -> 0 for those of these jobs that wait to run now: they are not in ready.
--
-- After every script:
--   - a job in line has the same group and place in places, and an envelope unless it is an occurrence. It is in no other list and no flight. Its ID may be in
--     ready and in stale, because of an earlier job without a group;
--   - a job in places is not in ready, unless its ID is void there; or it is an occurrence that came back, or waited behind another one, and has not
--     joined line again yet: the take that finds it at the head of ready moves it;
--   - an occurrence may have no envelope;
--   - if places is not empty, …:state has the field groups. Scripts read both keys only then. See lib/groups.lua.
local NO_PLACE = '0000000000000000'

-- is_occurrence reports whether a job is an occurrence of a schedule.
local function is_occurrence(id)
  return string.byte(id, -1) == 90 and string.find(id, '@%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%dZ$') ~= nil -- Z
end

-- line_member returns the member of line for a job with this entry in places; nil: the entry cannot be read.
local function line_member(id, entry)
  local place, group = string.match(entry, '^(%d+) (.+)$')
  return place and group .. '\t' .. place .. '\t' .. id
end

-- find_grouped reads which of the jobs belong to a group. Returns a table with, for each position, entries: the entry in places, and members: the member
-- of line, if the job is there. flag: the field groups of state.
local function find_grouped(flag, places, line, ids)
  local grouped = { entries = {}, members = {} }
  if not flag or #ids == 0 then return grouped end
  local candidates, positions = {}, {}
  for i, entry in ipairs(redis.call('HMGET', places, unpack(ids))) do
    if entry then
      grouped.entries[i] = entry
      local member = line_member(ids[i], entry)
      if member then candidates[#candidates + 1], positions[#positions + 1] = member, i end
    end
  end
  for k, score in ipairs(#candidates > 0 and redis.call('ZMSCORE', line, unpack(candidates)) or {}) do
    if score then grouped.members[positions[k]] = candidates[k] end
  end
  return grouped
end

-- leave_line removes members from line, and the entries of jobs that have ended from places. The script tunes their groups afterwards.
local function leave_line(places, line, members, ended)
  if #members > 0 then redis.call('ZREM', line, unpack(members)) end
  if #ended > 0 then redis.call('HDEL', places, unpack(ended)) end
end
