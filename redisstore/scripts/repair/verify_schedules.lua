-- verify_schedules.lua: list the schedules that live in a partition, some at a time, with the fault of each; and remove the names of some from
-- owed, whose next occurrence is placed. repair_orphans.lua repairs the other faults.
-- KEYS[1] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[2] …:open       hash  schedule -> see lib/open.lua
-- KEYS[3] …:schedules  hash  schedule -> definition
-- KEYS[4] …:cursors    hash  schedule -> "<planned instant> <runs used> <kind>"
-- KEYS[5] …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[6] …:jobs       hash  job ID -> envelope
-- KEYS[7] …:crashes    hash  job ID -> times its holder vanished
-- KEYS[8] …:state      hash  layout, groups
-- KEYS[9] …:line       zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[10] …:places    hash  job ID -> "<place> <group>"
-- KEYS[11] …:purgedline  zset  likewise: the former line of a purge, which returns occurrences
-- ARGV[1] the position in the list, as the last call answered; 0 begins; empty: no list, but ARGV[2...], names of schedules that must be in
-- due only if they are in owed as well
-- Returns the new position, 0 at the end; then three values for each schedule: name, generation, and its fault:
--   due, owed, cursor, held  see repair_orphans.lua
--   both                     it is in owed, and the occurrence at its cursor is in due or in line and was not taken
--   mark                     the mark of a move, and no fault
--   unreadable               its definition does not begin correctly: it is not placed, changed or run. Its generation is empty
local OWED, OPEN, SCHEDULES, CURSORS, DUE, JOBS, CRASHES, STATE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local COUNT = 100 -- about how many definitions a call reads
-- uses: clock layout instant seconds definition owed open bars standing line
local state = redis.call('HMGET', STATE, 'layout', 'groups')
local refusal = newer(state[1])
if refusal then return refusal end
local lists = ARGV[1] ~= ''
local names, texts, next_at = {}, {}, '0'
if lists then
  local page = redis.call('HSCAN', SCHEDULES, ARGV[1], 'COUNT', COUNT)
  next_at = page[1]
  for i = 1, #page[2], 2 do
    names[#names + 1], texts[#texts + 1] = page[2][i], page[2][i + 1]
  end
else
  for i = 2, #ARGV do
    names[i - 1], texts[i - 1] = ARGV[i], redis.call('HGET', SCHEDULES, ARGV[i])
  end
end

-- fault returns the fault of the live schedule name; nil: it has none.
local function fault(name, definition_text)
  local since, text = tonumber(redis.call('ZSCORE', OWED, name) or ''), redis.call('HGET', CURSORS, name)
  local at, _, kind = readable(text)
  if text and not at or not since and not at then return 'cursor' end
  local id = is_placed(kind) and name .. '@' .. at
  local placed = id and (redis.call('ZSCORE', DUE, id) or find_grouped(state[2], KEYS[10], KEYS[9], { id }).members[1] or
    find_grouped(state[2], KEYS[10], KEYS[11], { id }).members[1])
  if not since then
    if placed then return nil end
    return id and (seconds(at) or 0) * 1000 + offset_of(definition_text) > now_ms and 'due' or 'owed'
  end
  if since >= HELD and not bars(redis.call('HGET', OPEN, name)) then return 'held' end
  local untaken = placed and redis.call('HEXISTS', JOBS, id) == 0 and redis.call('HEXISTS', CRASHES, id) == 0
  if untaken then return 'both' end
end

local answer, both = { next_at }, {}
for i, name in ipairs(names) do
  local h = head(texts[i])
  if lists and h and is_mark(h.state) then
    local n = #answer
    answer[n + 1], answer[n + 2], answer[n + 3] = name, h.generation, 'mark'
  elseif texts[i] and not (h and is_mark(h.state)) then
    local what = not h and 'unreadable' or h.state == 'live' and fault(name, texts[i]) or ''
    answer[#answer + 1] = name
    answer[#answer + 1] = h and h.generation or ''
    answer[#answer + 1] = what
    if what == 'both' then both[#both + 1] = name end
  end
end
if not lists and #both > 0 then redis.call('ZREM', OWED, unpack(both)) end
return answer
