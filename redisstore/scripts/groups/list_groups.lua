-- list_groups.lua: list groups with what is known of them. It writes nothing.
-- KEYS[1] …:state   hash  layout, groups, grules: see lib/groups.lua
-- KEYS[2] …:line    zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now
-- KEYS[3] …:places  hash  job ID -> "<place> <group>"
-- KEYS[4] …:turns   zset  "<tag>\t<group>" -> flights / weight
-- KEYS[5] …:groups  hash  group -> its flights, its tag, its starts, its blocker
-- KEYS[6] …:grules  hash  group, or \1* -> rule and pause
-- ARGV[1] line: groups with jobs that wait; groups: others that have flights or starts that count; grules: others that have a rule or a pause; one: a single group,
--   also one that has nothing
-- ARGV[2] line: the group after which to begin, empty: none; else the position, as the last call answered, 0 begins; ARGV[3] about how many groups
-- ARGV[4] the beginning of the groups' names; one: the name
-- Returns time (us); the next ARGV[2], empty at the end; the entry of grules for the queue, empty: none; then for each group a list: its name, how many
-- jobs wait, the first of these in line (empty: none), how many are in flight, its entry in grules (empty: none), the six numbers of the rule in effect,
-- why it starts nothing (empty: nothing prevents it), when the next may start, Unix ms (-1: not known), the ID of its blocker (empty: none).
local LINE, PLACES, TURNS, GROUPS, GRULES = KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local MAX_PAGE = 100
-- uses: limits clock layout queuelimit starts line groups
local state = redis.call('HMGET', KEYS[1], 'layout', 'groups', 'grules')
local refusal = newer(state[1])
if refusal then return refusal end
local list, at, count, prefix = ARGV[1], ARGV[2], math.min(tonumber(ARGV[3]), MAX_PAGE), ARGV[4]

-- first_of returns the first job of a group in line; nil: none waits.
local function first_of(name)
  return redis.call('ZRANGEBYLEX', LINE, '[' .. name .. '\t', '(' .. name .. '\n', 'LIMIT', '0', '1')[1]
end

local names, firsts, next_at = {}, {}, ''
if list == 'line' then
  local from = at == '' and (prefix == '' and '-' or '[' .. prefix) or '(' .. at .. '\n'
  for i = 1, count + 1 do
    local member = redis.call('ZRANGEBYLEX', LINE, from, '+', 'LIMIT', '0', '1')[1]
    local name = member and string.match(member, '^[^\t]*')
    if not name or string.sub(name, 1, #prefix) ~= prefix then break end
    if i > count then
      next_at = names[count]
      break
    end
    names[i], firsts[i], from = name, member, '(' .. name .. '\n'
  end
elseif list == 'one' then
  names[1], firsts[1] = prefix, first_of(prefix)
else
  local scanned
  if list == 'groups' then
    scanned = redis.call('HSCAN', GROUPS, at, 'COUNT', whole(count))
  else
    scanned = redis.call('HSCAN', GRULES, at, 'COUNT', whole(count))
  end
  if scanned[1] ~= '0' then next_at = scanned[1] end
  for i = 1, #scanned[2], 2 do
    local name = scanned[2][i]
    local other = name ~= QUEUE_RULE and string.sub(name, 1, #prefix) == prefix and not first_of(name)
    if other and (list == 'groups' or redis.call('HEXISTS', GROUPS, name) == 0) then names[#names + 1] = name end
  end
end

local answer = { whole(now_us), next_at, state[3] and redis.call('HGET', GRULES, QUEUE_RULE) or '' }
local all = open_groups(state[2], state[3])
for first = 1, #names, MAX_ITEMS do
  local some = {}
  for i = first, math.min(first + MAX_ITEMS - 1, #names) do some[#some + 1] = names[i] end
  read_groups(all, some, TURNS, GROUPS, GRULES)
  local own = state[3] and redis.call('HMGET', GRULES, unpack(some)) or {}
  for i, name in ipairs(some) do
    local g, waiting = all.of[name], 0
    local rule = g.rule
    if firsts[first + i - 1] then waiting = redis.call('ZLEXCOUNT', LINE, '[' .. name .. '\t', '(' .. name .. '\n') end
    local resumes = false
    if g.blocker then
      local entry = redis.call('HGET', PLACES, g.blocker)
      local member = entry and line_member(g.blocker, entry)
      resumes = member and redis.call('ZSCORE', LINE, member) and true
    end
    local why, until_ms = '', -1
    if rule.paused then
      why = 'paused'
    elseif rule.ordered and (g.flights > 0 or g.blocker and not resumes) then
      why = 'ordered'
    elseif rule.running > 0 and g.flights >= rule.running then
      why = 'running'
    elseif g.starts and starts_of.count(g) >= rule.starts then
      why, until_ms = 'starts', starts_of.opens_at(g)
    end
    local numbers = {}
    for k = 1, 6 do numbers[k] = whole(rule.numbers[k]) end
    answer[#answer + 1] = { name, waiting, firsts[first + i - 1] or '', g.flights, own[i] or '', table.concat(numbers, ' '), why, whole(until_ms),
      rule.ordered and g.blocker or '' }
  end
end
return answer
