-- lined: occurrences that belong to groups, for the scripts that withdraw an occurrence which was not taken.
-- needs: clock queuelimit starts line groups

-- Such an occurrence has an entry in places from the moment it is placed. It is in due, and once it is due, in line. So its group has no flight of it,
-- and it is no blocker: if it leaves, no other job may start because of that.

-- open_lined reads what withdrawals need. flag, rules: the fields groups and grules of state; line, places, turns, groups, grules, opens: the keys.
-- Returns nil if no job of the partition has a group.
local function open_lined(flag, rules, line, places, turns, groups, grules, opens)
  if not flag then return nil end
  local all = open_groups(flag, rules)
  local members, gone = {}, {}
  check_groups(line, places, turns, groups, opens)
  return {
    -- member_of returns the member of line of an occurrence; nil: it is not there.
    member_of = function(id)
      local entry = redis.call('HGET', places, id)
      local member = entry and line_member(id, entry)
      return member and redis.call('ZSCORE', line, member) and member or nil
    end,
    -- leave records that an occurrence is withdrawn.
    leave = function(id)
      local entry = redis.call('HGET', places, id)
      if not entry then return end
      read_groups(all, { string.match(entry, ' (.+)$') }, turns, groups, grules)
      gone[#gone + 1], members[#members + 1] = id, line_member(id, entry)
    end,
    -- save carries that out. state: the key.
    save = function(state)
      if #gone == 0 then return end
      leave_line(places, line, members, gone)
      tune_groups(all, state, line, places, turns, groups, opens)
    end,
  }
end
