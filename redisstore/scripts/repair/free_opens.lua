-- free_opens.lua: release schedules that are held by an occurrence which is not in flight, not in ready and not in line: it was edited by hand, evicted, or
-- lost in a failover. An entry that cannot be read holds nothing, and is removed: a newer version that wrote it would have raised the layout.
-- An entry that has changed since the caller read it is skipped.
-- KEYS[1] …:open       hash  schedule -> see lib/open.lua
-- KEYS[2] …:behind     zset  "<schedule>\t<planned instant>" -> 0: occurrences behind the one in open
-- KEYS[3] …:ready      list  IDs of jobs to run now
-- KEYS[4] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[5] …:schedules  hash  schedule -> definition
-- KEYS[6] …:cursors    hash  schedule -> cursor
-- KEYS[7] …:state      hash  layout, purge, groups
-- KEYS[8] …:line       zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[9] …:places     hash  job ID -> "<place> <group>"
-- KEYS[10] …:due       zset  job ID -> instant it is due, Unix ms
-- KEYS[11...] …:inflight:<session>  hash  job ID -> fence
-- ARGV three values for each schedule: name, its entry in open, the position of its session among KEYS[11...] (0: it has none)
-- Returns how many were released, or removed.
local OPEN, BEHIND, READY, OWED, SCHEDULES, CURSORS, STATE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local INFLIGHT = 10 -- the hashes of the sessions come after KEYS[10]
local DEPTH = 10000 -- how deep ready is searched: an occurrence for which a schedule is held was put at its front
-- uses: strings clock layout definition owed open flight line
local state = redis.call('HMGET', STATE, 'layout', 'purge', 'groups')
local refusal = newer(state[1])
if refusal then return refusal end
-- While a purge runs, such an occurrence may be in purged: the purge ends it. If ready is longer than what is searched, it may be deeper.
local hidden = state[2] or redis.call('LLEN', READY) > DEPTH
local names = {}
for i = 1, #ARGV, 3 do names[#names + 1] = ARGV[i] end
local flights, front, lost = read_flights(OPEN, BEHIND, SCHEDULES, CURSORS, names, {}), {}, {}
local removed = 0
local owes = redis.call('ZMSCORE', OWED, unpack(names))
for i, name in ipairs(names) do
  local entry, position = ARGV[3 * i - 1], tonumber(ARGV[3 * i])
  local id, fence = opened(entry)
  if flights.opens[name] == entry and not id then
    set_open(flights, name, false)
    removed = removed + 1
  elseif flights.opens[name] == entry and fence ~= '-' then
    local there
    if fence == '0' then
      there = hidden or redis.call('LPOS', READY, id) or find_grouped(state[3], KEYS[9], KEYS[8], { id }).members[1] or
        redis.call('ZSCORE', KEYS[10], id) -- a suspect that waits for another one
    else
      local held = position > 0 and redis.call('HGET', KEYS[INFLIGHT + position], id)
      there = held and match(held, '%d+$') == fence
    end
    if not there then lost[#lost + 1] = { name = name, id = id, since = owes[i] } end
  end
end

for _, schedule in ipairs(lost) do end_flight(flights, front, schedule.name, schedule.id, 'final') end
save_flights(flights, OPEN, BEHIND)
push_front(READY, front)
for _, schedule in ipairs(lost) do
  if flights.freed[schedule.name] and schedule.since then redis.call('ZADD', OWED, whole(owed_since(schedule.since)), schedule.name) end
end
return #lost + removed
