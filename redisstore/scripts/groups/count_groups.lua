-- count_groups.lua: count groups with jobs that wait, by what keeps them from starting one. It writes nothing.
-- KEYS[1] …:state   hash  layout, groups, grules: see lib/groups.lua
-- KEYS[2] …:line    zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now
-- KEYS[3] …:groups  hash  group -> its flights, its tag, its starts, its blocker
-- KEYS[4] …:grules  hash  group, or \1* -> rule and pause
-- ARGV[1] the group after which to begin, empty: none; ARGV[2] how many groups, at most MAX_ITEMS
-- Returns time (us); the next ARGV[1], empty: there are no more; then for each of these kinds, in this order, groups that may start a job, are paused, wait
-- for a job before, have as many flights as they may have, have used their starts: how many groups; the least place of a job that is first in its group, and
-- that group (empty: none, or all of these jobs were requeued).
local LINE, GROUPS, GRULES = KEYS[2], KEYS[3], KEYS[4]
local FIRST_DRAWN = 909090909090910 -- a place that was drawn is later, a place in front of all others is lower, see lib/groups.lua
-- uses: limits clock layout queuelimit starts line groups
local state = redis.call('HMGET', KEYS[1], 'layout', 'groups', 'grules')
local refusal = newer(state[1])
if refusal then return refusal end
local at, count = ARGV[1], math.min(tonumber(ARGV[2]), MAX_ITEMS)

local names, places, next_at = {}, {}, ''
local from = at == '' and '-' or '(' .. at .. '\n'
for i = 1, count + 1 do
  local member = redis.call('ZRANGEBYLEX', LINE, from, '+', 'LIMIT', '0', '1')[1]
  if not member then break end
  if i > count then
    next_at = names[count]
    break
  end
  names[i], places[i] = string.match(member, '^([^\t]*)\t(%d+)')
  if not names[i] then names[i], places[i] = string.match(member, '^[^\t]*'), '' end -- it was edited by hand
  from = '(' .. names[i] .. '\n'
end

-- read_groups would read more than a count needs, at ten times the cost: where a group is, is the first letter of its entry, and only the rules of those
-- that are not in turns are of interest
local entries, blocked, own = #names > 0 and redis.call('HMGET', GROUPS, unpack(names)) or {}, {}, {}
for i, name in ipairs(names) do
  if string.sub(entries[i] or '-', 1, 1) ~= 't' then blocked[#blocked + 1] = name end
end
local all, kinds = open_groups(state[2], state[3]), {}
if state[3] and #blocked > 0 then
  local text = redis.call('HGET', GRULES, QUEUE_RULE)
  if text then all.queue = group_rule(all, text).numbers end
  for k, rule in ipairs(redis.call('HMGET', GRULES, unpack(blocked))) do own[blocked[k]] = rule end
end
for i = 1, 5 do kinds[i] = { groups = 0, place = '', name = '' } end
for i, name in ipairs(names) do
  local where, kind = string.sub(entries[i] or '-', 1, 1), kinds[1]
  if where ~= 't' then
    local rule = group_rule(all, own[name])
    if rule.paused then
      kind = kinds[2]
    elseif where == 'o' then
      kind = kinds[5]
    elseif rule.ordered then
      kind = kinds[3]
    else
      kind = kinds[4]
    end
  end
  kind.groups = kind.groups + 1
  local place = tonumber(places[i]) or 0
  if place >= FIRST_DRAWN and (kind.place == '' or places[i] < kind.place) then kind.place, kind.name = places[i], name end
end

local answer = { whole(now_us), next_at }
for _, kind in ipairs(kinds) do
  answer[#answer + 1] = kind.groups
  answer[#answer + 1] = kind.place
  answer[#answer + 1] = kind.name
end
return answer
