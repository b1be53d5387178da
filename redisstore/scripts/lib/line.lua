-- line: jobs that belong to a group.

-- The formats of the other keys of groups, which the scripts read and write. Numbers are decimal. A tag is a text of 38 digits: whole turns (16),
-- millionths of a turn (6), arrival (16, drawn like a place).
--   state, field groups   "<virtual time, the first 22 digits of a tag> <W> <F> <front> <last>": W and F are the sums of the weights and the flights of
--                         the groups in turns; front is the last place that a requeued job got, it only falls; last is the last place drawn. It is there
--                         while places or groups is not empty.
--   state, field grules   "<how many fields grules has> <revision>", and while a change of the queue's rule is carried out, a blank and the group that was
--                         tuned last (empty: none). It is there while grules is not empty.
--   turns                 "<tag>\t<group>" -> flights / weight, as %.17g: the groups that have a job in line and may start one
--   opens                 "<group>" -> Unix ms, rounded up: the groups that have a job in line, and nothing but their starts keeps them out of turns
--   groups                group -> "<where><flights> <weight> <tag>", then for each pair of starts, the oldest first, as in the limit of a queue,
--                         " <instant of its last start, Unix us>:<time from its first to its last start, us>:<how many>"; then, if the group has a blocker, a
--                         tab and the ID of the job. where: t in turns, o in opens, - in neither. weight: as W has it (where is t). tag: - if there is none.
--                         A group is not there if it would have nothing but "-0 1 -" there.
--   grules                group, or \1* for the queue's rule -> "<weight> <running> <starts> <per, ms> <ordered> <waiting> <paused>", and if it is paused
--                         with a note, a tab and the JSON of the note. 0: not set; -1: no limit (running, starts, waiting); ordered: 0 not set, 1 on,
--                         2 off; paused: Unix ms since when, 0 it is not (the queue's rule: always 0). A group whose seven numbers are 0 is not there.

-- The hash places has job ID -> "<place> <group>" for each job of a group, as long as the job has an envelope. A place is a number of 16 digits;
-- 0: the job has not waited to run yet. A job keeps its place while it is in flight or parked. The sorted set line has
-- "<group>\t<place>\t<job ID>" -> 0 for those of these jobs that wait to run now: they are not in ready.
--
-- After every script:
--   - a job in line has the same group and place in places, and an envelope. It is in no other list and no flight. Its ID may be in
--     ready and in stale, because of an earlier job without a group;
--   - a job in places is not in ready, unless its ID is void there;
--   - …:state has the field groups if and only if places is not empty. Scripts read both keys only then.

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

-- leave_line removes members from line, and the entries of jobs that have ended from places. state: the key; ended: their IDs.
local function leave_line(state, places, line, members, ended)
  if #members > 0 then redis.call('ZREM', line, unpack(members)) end
  if #ended == 0 then return end
  redis.call('HDEL', places, unpack(ended))
  -- read after write: only now it is known whether others are left
  if redis.call('HLEN', places) == 0 then redis.call('HDEL', state, 'groups') end
end
