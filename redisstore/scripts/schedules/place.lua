-- place.lua: place the next occurrences of schedules and move their cursors. If several callers place the same one, one of them succeeds.
-- Model: PLACE_BODY in models/placing.pml.
-- KEYS[1] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[2] …:schedules  hash  schedule -> definition
-- KEYS[3] …:cursors    hash  schedule -> "<planned instant> <runs used> <kind>"
-- KEYS[4] …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[5] …:idle       zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[6] …:counters   hash
-- KEYS[7] …:state      hash  layout, limit, groups, grules
-- KEYS[8] …:open       hash  schedule -> see lib/open.lua
-- KEYS[9] …:zones      hash  schedule -> the local time of the occurrence at its cursor, see lib/zones.lua
-- KEYS[10] …:jobs      hash  job ID -> envelope: marks of an earlier schedule's occurrences are removed, see lib/void.lua
-- KEYS[11] …:line  zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[12] …:places  hash  job ID -> "<place> <group>"
-- KEYS[13] …:turns  zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[14] …:groups  hash  group -> its flights, tag and starts
-- KEYS[15] …:opens  zset  group -> instant of its next start, Unix ms
-- ARGV[1] prefix of the wake-up channels; then for each schedule: name, revision, cursor as the caller read it ("<planned instant>
-- <kind>" or empty), count (0 endless), how many instants were missed, how many of the occurrences are caught up, number of occurrences
-- (0: the schedule has completed; if instants were missed, its cursor becomes TIME), the time zone of its rule (empty: UTC, or the rule may repeat
-- local times), the group of its occurrences (empty: none), and for each of these occurrences its planned instant as text, the instant it is due in Unix ms, and the zone's offset in s, oldest first
-- Returns time (us), then a number for each schedule: how many were placed, -1 completed, -2 another process placed or changed it, -3 the
-- caught-up run waits for the end of the flight that holds the schedule, -4 its definition cannot be read, -5 an occurrence of this local time, or of
-- a later one, was taken: nothing was placed, and the schedule is still owed.
local OWED, SCHEDULES, CURSORS, DUE, IDLE, COUNTERS, STATE, OPEN = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local ZONES, JOBS = KEYS[9], KEYS[10]
-- uses: limits clock layout alarm counters instant seconds strings definition owed open due bars zones void queuelimit
local state = redis.call('HMGET', STATE, 'layout', 'limit', 'groups', 'grules')
local refusal = newer(state[1])
if refusal then return refusal end

local plans, names, at = {}, {}, 2
while at <= #ARGV do
  local plan = { name = ARGV[at], revision = ARGV[at + 1], cursor = ARGV[at + 2], count = tonumber(ARGV[at + 3]),
    missed = tonumber(ARGV[at + 4]), caught_up = tonumber(ARGV[at + 5]), first = at + 9, instants = tonumber(ARGV[at + 6]),
    zone = ARGV[at + 7], group = ARGV[at + 8] }
  plans[#plans + 1] = plan
  names[#names + 1] = plan.name
  at = at + 9 + 3 * plan.instants
end
local definitions = redis.call('HMGET', SCHEDULES, unpack(names))
local cursors = redis.call('HMGET', CURSORS, unpack(names))
local since = redis.call('ZMSCORE', OWED, unpack(names))
local opens = redis.call('HMGET', OPEN, unpack(names))
local entries = redis.call('HMGET', ZONES, unpack(names))
local head_due = due_head(DUE)
redis.call('HLEN', COUNTERS) -- its type is checked before the first write, and so is that of the next one
redis.call('ZCARD', IDLE)
redis.call('HLEN', JOBS)

-- decide: what is placed, and what is written for it
local answer, done, soonest = { whole(now_us) }, {}, nil
local idle_states = { paused = true, completed = true } -- whose schedules are owed nothing
local ids, created, group_of, grouped = {}, {}, {}, false -- the placed occurrences, when their schedules were created, and the groups of those that have one
local placed, due, cursors_now, completed, counts, held, unowed = {}, {}, {}, {}, {}, {}, {}
local zones_now, unzoned = {}, {}
for i, plan in ipairs(plans) do
  local h = head(definitions[i])
  local current, used, kind = cursor(cursors[i])
  local now_cursor = current and current .. ' ' .. kind or ''
  local used_time = plan.zone ~= '' and used_up(entries[i], current, plan.zone)
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
  elseif used_time and plan.instants > 0 and seconds(ARGV[plan.first]) + tonumber(ARGV[plan.first + 2]) <= used_time then
    answer[#answer + 1] = -5
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
        local planned, ms = ARGV[plan.first + 3 * k], ARGV[plan.first + 3 * k + 1]
        due[#due + 1] = ms
        due[#due + 1] = plan.name .. '@' .. planned
        ids[#ids + 1], created[#created + 1] = plan.name .. '@' .. planned, h.created
        if plan.group ~= '' then group_of[#ids], grouped = plan.group, true end
        if not soonest or tonumber(ms) < soonest then soonest = tonumber(ms) end
      end
      cursors_now[#cursors_now + 1] = plan.name
      local last = plan.first + 3 * placing - 3
      cursors_now[#cursors_now + 1] = ARGV[last] .. ' ' .. whole(used + placing) .. (plan.caught_up > 0 and ' c' or ' p')
      if plan.zone ~= '' then
        zones_now[#zones_now + 1] = plan.name
        zones_now[#zones_now + 1] = ARGV[last] .. ' ' .. ARGV[last + 2] .. ' ' .. (used_time and whole(used_time) or '-') .. ' ' .. plan.zone
      elseif entries[i] then
        unzoned[#unzoned + 1] = plan.name
      end
      answer[#answer + 1] = placing
    end
    if plan.missed > 0 then counts[plan.name .. MISSED], counts[MISSED] = plan.missed, (counts[MISSED] or 0) + plan.missed end
    if plan.caught_up > 0 then counts[plan.name .. CAUGHT_UP] = math.min(plan.caught_up, placing) end
  end
end

local marks = {} -- of occurrences of earlier schedules
for i, body in ipairs(#ids > 0 and redis.call('HMGET', JOBS, unpack(ids)) or {}) do
  if body and is_mark_of_void(body) then
    if not voids(body, created[i]) then marks[#marks + 1] = ids[i] else group_of[i] = nil end -- a void one waits for no turn
  end
end
local join -- writes the groups of the occurrences
if grouped then
  local function pieces() -- a function has locals of its own: here they would be too many
    -- uses: starts line groups
    local all, entries = open_groups(state[3], state[4]), {}
    check_groups(KEYS[11], KEYS[12], KEYS[13], KEYS[14], KEYS[15])
    for i, group in pairs(group_of) do entries[#entries + 1], entries[#entries + 2] = ids[i], NO_PLACE .. ' ' .. group end
    return function()
      if #entries > 0 then redis.call('HSET', KEYS[12], unpack(entries)) end
      tune_groups(all, STATE, KEYS[11], KEYS[12], KEYS[13], KEYS[14], KEYS[15])
    end
  end
  join = pieces()
end

if #unowed > 0 then redis.call('ZREM', OWED, unpack(unowed)) end
redis.call('ZREM', OWED, '', unpack(placed)) -- needs no memory: makes the other writes possible when the server is out of memory
if #held > 0 then redis.call('ZADD', OWED, unpack(held)) end
if #completed > 0 then redis.call('HSET', SCHEDULES, unpack(completed)) end
if #cursors_now > 0 then redis.call('HSET', CURSORS, unpack(cursors_now)) end
if #zones_now > 0 then redis.call('HSET', ZONES, unpack(zones_now)) end
if #unzoned > 0 then redis.call('HDEL', ZONES, unpack(unzoned)) end
if #due > 0 then redis.call('ZADD', DUE, unpack(due)) end
if join then join() end
if #marks > 0 then redis.call('HDEL', JOBS, unpack(marks)) end
for field, n in pairs(counts) do redis.call('HINCRBY', COUNTERS, field, n) end
if soonest and (head_due < 0 or soonest < head_due) then
  if state[2] then
    local limit = read_limit(state[2])
    if limit then soonest = next_start(limit, soonest, false) end
  end
  if soonest >= 0 then keep_alarm(IDLE, ARGV[1], soonest) end
end
return answer
