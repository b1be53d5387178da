-- limit_group.lua: set the own rule of a group, pause a group or resume it; set the queue's rule of groups, and tune its groups, 500 a call.
-- KEYS[1]  …:state    hash  layout, paused, limit, groups, grules: see lib/groups.lua
-- KEYS[2]  …:idle     zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[3]  …:due      zset  job ID -> instant it is due, Unix ms
-- KEYS[4]  …:ready    list  IDs of jobs to run now
-- KEYS[5]  …:line     zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now
-- KEYS[6]  …:places   hash  job ID -> "<place> <group>"
-- KEYS[7]  …:turns    zset  "<tag>\t<group>" -> flights / weight
-- KEYS[8]  …:groups   hash  group -> its flights, its tag, its starts, its blocker
-- KEYS[9]  …:grules   hash  group, or \1* -> rule and pause
-- KEYS[10] …:opens    zset  group -> instant of its next start, Unix ms
-- KEYS[11] …:callers  zset  completed calls, see lib/closed.lua; delete_queue.lua lets it expire
-- KEYS[12] …:ends     zset  ends of pauses, see lib/ends.lua
-- ARGV[1] prefix of the wake-up channels; ARGV[2] what to do: rule, pause, resume, over (resume if the end of the pause has come), queue, walk; ARGV[3] the group (queue, walk: empty);
-- ARGV[4] a unique name of this call (walk: empty): a late copy of it changes nothing, also if the rule was set again, or the group resumed, since
-- rule and queue: ARGV[5...10] weight, running, starts, per (ms), ordered, waiting, as grules has them. pause: ARGV[5] the JSON of a note, empty: none
-- Returns 0: nothing changed; 1: it is done; 2: it is done, and walk must be called until it returns another number; -1: the queue has as many rules as it
-- may have, and nothing was changed.

-- The queue's rule changes in one call. Groups that wait are tuned from the first one on, in the order of their keys, by that call and by calls of walk.
-- While state has the group that was tuned last, a group before it has the new rule in turns, opens and groups. One after it may be in turns by the old
-- rule: a take tunes the groups that it reads before it picks one. A sweep continues a walk whose caller has vanished.
local STATE, IDLE, DUE, READY, LINE, PLACES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local TURNS, GROUPS, GRULES, OPENS = KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local MAX_RULES = 100000
local wake, what, group = ARGV[1], ARGV[2], ARGV[3]
-- uses: limits callers clock ends layout closed gate wake alarm due queuelimit starts line groups waiting
local state = redis.call('HMGET', STATE, 'layout', 'paused', 'limit', 'groups', 'grules')
local refusal = newer(state[1])
if refusal then return refusal end
local n_rules, revision, walks, last = string.match(state[5] or '0 0', '^(%d+) (%d+)( ?)(.*)$')
if not n_rules then n_rules, revision, walks, last = '0', '0', '', '' end
n_rules, revision = tonumber(n_rules), tonumber(revision)
local field = (what == 'queue' or what == 'walk') and QUEUE_RULE or group
local before = redis.call('HGET', GRULES, field)
if not state[5] then n_rules = redis.call('HLEN', GRULES) end -- it was lost
check_groups(LINE, PLACES, TURNS, GROUPS, OPENS)
redis.call('ZCARD', IDLE)
redis.call('ZCARD', KEYS[12])
local completed = answered(KEYS[11], ARGV[4])
if completed then return what == 'queue' and walks ~= '' and 2 or completed - 1 end
local ending -- the note of the pause after this call, '': none; nil: the call is not about a pause

-- answers remembers the answer of this call, and returns it.
local function answers(n)
  redis.call('ZREM', IDLE, '') -- makes the other writes possible when the server is out of memory
  if ending and n >= 0 then set_end(KEYS[12], 'group\t' .. group, ending) end
  if what ~= 'walk' then remember_closed(KEYS[11], ARGV[4], n + 1) end
  return n
end

-- rule_text returns the entry of grules with these six numbers, the instant of a pause, and the JSON of its note; nil: there is nothing to keep.
local function rule_text(numbers, paused, note)
  local text = table.concat(numbers, ' ') .. ' ' .. paused
  if text == '0 0 0 0 0 0 0' then return nil end
  return note ~= '' and text .. '\t' .. note or text
end

-- the entry before, and the one after
local numbers, paused, note = { '0', '0', '0', '0', '0', '0' }, '0', ''
local found = { string.match(before or '', '^(%d+) (%-?%d+) (%-?%d+) (%d+) (%d) (%-?%d+) (%d+)\t?(.*)$') }
if found[8] then
  for i = 1, 6 do numbers[i] = found[i] end
  paused, note = found[7], found[8]
end
if what == 'rule' or what == 'queue' then
  for i = 1, 6 do numbers[i] = ARGV[4 + i] end
elseif what == 'pause' then
  if paused == '0' or ARGV[5] ~= '' and ARGV[5] ~= note then paused, note = whole(now_ms), ARGV[5] end
elseif what == 'resume' or what == 'over' and is_over(note) then
  paused, note = '0', ''
end
if what == 'pause' or what == 'resume' or what == 'over' then ending = note end
local text
if what == 'walk' then
  text = before
  if walks == '' then return 0 end
else
  text = rule_text(numbers, paused, note) or false
  if text == before then return answers(what == 'queue' and walks ~= '' and 2 or 0) end
  if text and not before then n_rules = n_rules + 1 end
  if before and not text then n_rules = n_rules - 1 end
  if text and not before and n_rules > MAX_RULES then return answers(-1) end
  if what == 'queue' then revision, walks, last = revision + 1, ' ', '' end
end

-- the groups to tune, with the rule that they have after this call
local all = open_groups(state[4], true)
if what == 'queue' or what == 'walk' then
  if text then all.queue = group_rule(all, text).numbers end
  all.default = group_rule(all, false)
  local names, after = {}, last == '' and '-' or '(' .. last .. '\n'
  for i = 1, MAX_ITEMS do
    local member = redis.call('ZRANGEBYLEX', LINE, after, '+', 'LIMIT', '0', '1')[1]
    if not member then
      walks, last = '', ''
      break
    end
    last = string.match(member, '^[^\t]*')
    names[i], after = last, '(' .. last .. '\n'
  end
  if #names > 0 then read_groups(all, names, TURNS, GROUPS, GRULES) end
else
  read_groups(all, { group }, TURNS, GROUPS, GRULES)
  local g = all.of[group]
  if g.starts then starts_of.count(g) end -- what does not count by the rule before, is removed
  g.rule, g.used = group_rule(all, text), nil
  g.starts = g.rule.starts > 0 and (g.starts or '') or nil
end

local result = answers(walks == '' and 1 or 2)
if what ~= 'walk' then
  if text then
    redis.call('HSET', GRULES, field, text)
  else
    redis.call('HDEL', GRULES, field)
  end
  if state[1] ~= LAYOUT then redis.call('HSET', STATE, 'layout', LAYOUT) end
  if not state[1] then -- delete_queue.lua lets these expire
    redis.call('PERSIST', KEYS[11])
    redis.call('PERSIST', IDLE)
  end
end
if n_rules > 0 or walks ~= '' then
  redis.call('HSET', STATE, 'grules', whole(n_rules) .. ' ' .. whole(revision) .. walks .. last)
else
  redis.call('HDEL', STATE, 'grules')
end
if state[4] then tune_groups(all, STATE, LINE, PLACES, TURNS, GROUPS, OPENS) end
if not state[2] then
  local startable, next_ms = next_take(READY, DUE, TURNS, OPENS, state[4], read_limit(state[3]), next_start)
  if startable then
    wake_one(IDLE, wake)
  elseif next_ms >= 0 then
    keep_alarm(IDLE, wake, next_ms)
  end
end
return result
