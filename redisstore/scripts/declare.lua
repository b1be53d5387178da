-- declare.lua: create schedules and change them. A definition that is stored already is not written again.
-- KEYS[1] …:schedules  hash  schedule -> definition, JSON
-- KEYS[2] …:cursors    hash  schedule -> "<planned instant> <runs used> <kind>"
-- KEYS[3] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, Unix ms
-- KEYS[4] …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[5] …:state      hash  fence, layout, large
-- KEYS[6] …:jobs       hash  job ID -> envelope
-- KEYS[7] …:crashes    hash  job ID -> times its holder vanished
-- ARGV three values for each schedule: name, overlap policy, the rest of its definition (a JSON object)
-- Returns time (us), then five values for each schedule: 0 the same, 1 new, 2 changed, 3 moved away; definition before; definition
-- now; cursor now; 1 if this call put it into owed.
local SCHEDULES, CURSORS, OWED, DUE, STATE, JOBS, CRASHES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
-- uses: limits clock layout instant definition withdraw
local state = redis.call('HMGET', STATE, 'fence', 'layout')
local refusal = newer(state[2])
if refusal then return refusal end

local names = {}
for i = 1, #ARGV, 3 do names[#names + 1] = ARGV[i] end
local stored = redis.call('HMGET', SCHEDULES, unpack(names))
local cursors = redis.call('HMGET', CURSORS, unpack(names))
local draw = math.max(tonumber(state[1] or 0) + 1, now_us)

-- plans: what each declaration does. Everything is read before anything is written.
local plans, done = {}, {}
for i, name in ipairs(names) do
  local overlap, rest = ARGV[3 * i - 1], string.sub(ARGV[3 * i], 2)
  local revision, condition, created, old_overlap, old_rest = head(stored[i])
  local plan = { status = 0, old = stored[i] or '', text = stored[i] or '', cursor = cursors[i] or '' }
  if done[name] then
    return redis.error_reply('CHIMETWICE schedule ' .. name .. ' is declared twice in one call')
  elseif not revision then
    plan.status, plan.state, plan.cursor = 1, 'live', ''
    plan.text = definition(whole(draw), 'live', instant(now_s), overlap, rest)
    draw = draw + 1
  elseif is_mark(condition) then
    plan.status = 3
  elseif overlap ~= old_overlap or rest ~= old_rest then
    plan.status = 2
    plan.state = condition == 'completed' and 'live' or condition
    local next_revision = math.max(draw, tonumber(revision) + 1)
    draw = next_revision + 1
    plan.text = definition(whole(next_revision), plan.state, created, overlap, rest)
    local at, used, kind = cursor(cursors[i])
    plan.withdrawn = placed_ahead(DUE, JOBS, CRASHES, name, at, kind)
    if plan.withdrawn then used = math.max(used - 1, 0) end
    plan.cursor = instant(now_s) .. ' ' .. whole(used) .. ' s'
  end
  done[name] = true
  plans[i] = plan
end

local answer, drawn, large = { whole(now_us) }, false, false
for i, plan in ipairs(plans) do
  local name = names[i]
  local owes = 0
  if plan.status == 1 or plan.status == 2 then
    drawn, large = true, large or #plan.text > LARGE_BYTES
    redis.call('HSET', SCHEDULES, name, plan.text)
    if plan.withdrawn then redis.call('ZREM', DUE, plan.withdrawn) end
    if plan.cursor ~= '' then
      redis.call('HSET', CURSORS, name, plan.cursor)
    elseif cursors[i] then
      redis.call('HDEL', CURSORS, name)
    end
    if plan.state == 'live' then
      redis.call('ZADD', OWED, whole(now_ms), name)
      owes = 1
    else
      redis.call('ZREM', OWED, name)
    end
  end
  for _, value in ipairs({ plan.status, plan.old, plan.text, plan.cursor, owes }) do answer[#answer + 1] = value end
end
if drawn then redis.call('HSET', STATE, 'fence', whole(draw - 1)) end
if large then redis.call('HSETNX', STATE, 'large', '1') end -- takes must ask for lengths first
if not state[2] then redis.call('HSET', STATE, 'layout', LAYOUT) end
return answer
