-- place.lua: place the next occurrences of schedules and move their cursors. If several callers place the same one, one of them succeeds.
-- KEYS[1] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[2] …:schedules  hash  schedule -> definition
-- KEYS[3] …:cursors    hash  schedule -> "<planned instant> <runs used> <kind>"
-- KEYS[4] …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[5] …:idle       zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[6] …:counters   hash
-- KEYS[7] …:state      hash  layout, limit
-- KEYS[8] …:open       hash  schedule -> see lib/open.lua
-- ARGV[1] prefix of the wake-up channels; then for each schedule: name, revision, cursor as the caller read it ("<planned instant>
-- <kind>" or empty), count (0 endless), how many instants were missed, how many of the occurrences are caught up, number of occurrences
-- (0: the schedule has completed; if instants were missed, its cursor becomes TIME), and for each of these its planned instant as text and in Unix ms, oldest first
-- Returns time (us), then a number for each schedule: how many were placed, -1 completed, -2 another process placed or changed it, -3 the
-- caught-up run waits for the end of the flight that holds the schedule, -4 its definition cannot be read.
local OWED, SCHEDULES, CURSORS, DUE, IDLE, COUNTERS, STATE, OPEN = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
-- uses: limits clock layout alarm counters instant definition owed open due bars
local state = redis.call('HMGET', STATE, 'layout', 'limit')
local refusal = newer(state[1])
if refusal then return refusal end

local plans, names, at = {}, {}, 2
while at <= #ARGV do
  local plan = { name = ARGV[at], revision = ARGV[at + 1], cursor = ARGV[at + 2], count = tonumber(ARGV[at + 3]),
    missed = tonumber(ARGV[at + 4]), caught_up = tonumber(ARGV[at + 5]), first = at + 7, instants = tonumber(ARGV[at + 6]) }
  plans[#plans + 1] = plan
  names[#names + 1] = plan.name
  at = at + 7 + 2 * plan.instants
end
local definitions = redis.call('HMGET', SCHEDULES, unpack(names))
local cursors = redis.call('HMGET', CURSORS, unpack(names))
local since = redis.call('ZMSCORE', OWED, unpack(names))
local opens = redis.call('HMGET', OPEN, unpack(names))
local head_due = due_head(DUE)
redis.call('HLEN', COUNTERS) -- its type is checked before the first write, and so is that of the next one
redis.call('ZCARD', IDLE)

-- decide: what is placed, and what is written for it
local answer, done, soonest = { whole(now_us) }, {}, nil
local idle_states = { paused = true, completed = true } -- whose schedules are owed nothing
local placed, due, cursors_now, completed, counts, held, unowed = {}, {}, {}, {}, {}, {}, {}
for i, plan in ipairs(plans) do
  local h = head(definitions[i])
  local current, used, kind = cursor(cursors[i])
  local now_cursor = current and current .. ' ' .. kind or ''
  if done[plan.name] or not h or h.revision ~= plan.revision or h.state ~= 'live' or now_cursor ~= plan.cursor then
    if h and idle_states[h.state] then unowed[#unowed + 1] = plan.name end
    answer[#answer + 1] = definitions[i] and not (h and (h.state == 'live' or idle_states[h.state] or is_mark(h.state))) and -4 or -2
  elseif plan.caught_up > 0 and h.overlap ~= 'allow' and bars(opens[i]) then
    done[plan.name] = true
    if since[i] and tonumber(since[i]) < HELD then
      held[#held + 1] = whole(tonumber(since[i]) + HELD)
      held[#held + 1] = plan.name
    end
    answer[#answer + 1] = -3
  else
    done[plan.name] = true
    placed[#placed + 1] = plan.name
    local placing = plan.instants
    if plan.count > 0 then placing = math.min(placing, math.max(plan.count - used, 0)) end
    if placing == 0 then
      completed[#completed + 1] = plan.name
      h.state = 'completed'
      completed[#completed + 1] = definition(h)
      answer[#answer + 1] = -1
      if plan.missed > 0 then -- instants counted now are not counted again if a change makes the schedule live
        cursors_now[#cursors_now + 1] = plan.name
        cursors_now[#cursors_now + 1] = instant(now_s) .. ' ' .. whole(used) .. ' s'
      end
    else
      for k = 0, placing - 1 do
        local planned, ms = ARGV[plan.first + 2 * k], ARGV[plan.first + 2 * k + 1]
        due[#due + 1] = ms
        due[#due + 1] = plan.name .. '@' .. planned
        if not soonest or tonumber(ms) < soonest then soonest = tonumber(ms) end
      end
      cursors_now[#cursors_now + 1] = plan.name
      cursors_now[#cursors_now + 1] = ARGV[plan.first + 2 * placing - 2] .. ' ' .. whole(used + placing) .. (plan.caught_up > 0 and ' c' or ' p')
      answer[#answer + 1] = placing
    end
    if plan.missed > 0 then counts[plan.name .. MISSED], counts[MISSED] = plan.missed, (counts[MISSED] or 0) + plan.missed end
    if plan.caught_up > 0 then counts[plan.name .. CAUGHT_UP] = math.min(plan.caught_up, placing) end
  end
end

if #unowed > 0 then redis.call('ZREM', OWED, unpack(unowed)) end
redis.call('ZREM', OWED, '', unpack(placed)) -- needs no memory: makes the other writes possible when the server is out of memory
if #held > 0 then redis.call('ZADD', OWED, unpack(held)) end
if #completed > 0 then redis.call('HSET', SCHEDULES, unpack(completed)) end
if #cursors_now > 0 then redis.call('HSET', CURSORS, unpack(cursors_now)) end
if #due > 0 then redis.call('ZADD', DUE, unpack(due)) end
for field, n in pairs(counts) do redis.call('HINCRBY', COUNTERS, field, n) end
if soonest and (head_due < 0 or soonest < head_due) then
  if state[2] then
    -- uses: queuelimit
    local limit = read_limit(state[2])
    if limit then soonest = next_start(limit, soonest, false) end
  end
  if soonest >= 0 then keep_alarm(IDLE, ARGV[1], soonest) end
end
return answer
