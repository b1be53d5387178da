-- tuned: the groups of jobs that a script moves or ends, without a flight: each such script opens them before its first write, and tunes them at its end.
-- needs: clock queuelimit starts line groups

-- open_tuned returns the table of the groups of jobs. flag, rules: the fields groups and grules of state; entries: the jobs' entries in places,
-- with any indexes. line, places, turns, groups, grules, opens: the keys.
local function open_tuned(flag, rules, entries, line, places, turns, groups, grules, opens)
  local all, names = open_groups(flag, rules), {}
  for _, entry in pairs(entries) do names[#names + 1] = string.match(entry, ' (.+)$') end
  read_groups(all, names, turns, groups, grules)
  check_groups(line, places, turns, groups, opens)
  return all
end

-- unblock_job records that a job with this entry in places has ended.
local function unblock_job(all, id, entry)
  local g = all.of[entry and string.match(entry, ' (.+)$')]
  if g then unblock(g, id) end
end
