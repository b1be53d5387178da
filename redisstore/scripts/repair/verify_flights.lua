-- verify_flights.lua: compare the flights that are counted for groups with the jobs in flight, and repair the counts if requested.
-- KEYS[1] …:state     hash  layout, groups, grules, paused, limit
-- KEYS[2] …:sessions  zset  session -> instant it lapses, Unix ms
-- KEYS[3] …:line      zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[4] …:places    hash  job ID -> "<place> <group>"
-- KEYS[5] …:turns     zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[6] …:groups    hash  group -> its flights, its tag, its starts, its blocker
-- KEYS[7] …:grules    hash  group -> its rule and pause
-- KEYS[8] …:opens     zset  group -> instant of its next start, Unix ms
-- KEYS[9] …:idle      zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[10] …:ready    list  IDs of jobs to run now
-- KEYS[11] …:due      zset  job ID -> instant it is due, Unix ms
-- KEYS[12...] …:inflight:<session>  hash  job ID -> fence; and the field of the piece session
-- ARGV[1] 1: repair, 0: look; ARGV[2] how many sessions there are in KEYS[12...]; ARGV[3] prefix of the wake-up channels; ARGV[4...] the sessions; then
-- the position in …:groups, as the last call answered, 0 begins
-- Returns 0 if there is a session that the caller does not name, or 2 if there are more flights than a call counts: then nothing is done; else 1; the
-- new position, 0 at the end; then for each group whose count is wrong, or was: its name, the counted flights, the actual ones.
local STATE, SESSIONS, LINE, PLACES = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local TURNS, GROUPS, GRULES, OPENS = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local IDLE, READY, DUE = KEYS[9], KEYS[10], KEYS[11]
local INFLIGHT, NAMES = 11, 3 -- the hashes come behind KEYS[11], the names of their sessions behind ARGV[3]
local MAX_FLIGHTS = 5000
local repairs, n_sessions = ARGV[1] == '1', tonumber(ARGV[2])
-- uses: limits clock layout session gate wake alarm due queuelimit waiting starts line groups repaired
local state = redis.call('HMGET', STATE, 'layout', 'groups', 'grules', 'paused', 'limit')
local refusal = newer(state[1])
if refusal then return refusal end
local known, flights = 0, 0
for i = 1, n_sessions do
  if redis.call('ZSCORE', SESSIONS, ARGV[NAMES + i]) then known = known + 1 end
  flights = flights + redis.call('HLEN', KEYS[INFLIGHT + i])
end
if known < redis.call('ZCARD', SESSIONS) then return { 0 } end
if flights > MAX_FLIGHTS then return { 2 } end

local counts, names = {}, {} -- group -> its jobs in flight; groups to compare
for i = 1, n_sessions do
  local ids, held = {}, redis.call('HGETALL', KEYS[INFLIGHT + i])
  for k = 1, #held, 2 do ids[#ids + 1] = held[k] end
  local listed = redis.call('ZSCORE', SESSIONS, ARGV[NAMES + i])
  for first = 1, listed and #ids or 0, MAX_ITEMS do
    for _, entry in ipairs(redis.call('HMGET', PLACES, unpack(ids, first, math.min(first + MAX_ITEMS - 1, #ids)))) do
      local group = entry and string.match(entry, ' (.+)$')
      if group then
        if not counts[group] then names[#names + 1] = group end
        counts[group] = (counts[group] or 0) + 1
      end
    end
  end
end
local page = redis.call('HSCAN', GROUPS, ARGV[NAMES + n_sessions + 1], 'COUNT', whole(MAX_ITEMS))
for i = 1, #page[2], 2 do
  if not counts[page[2][i]] and not string.find(page[2][i + 1], '^.0 ') then names[#names + 1] = page[2][i] end
end

local answer, wrong = { 1, page[1] }, {}
local all = open_groups(state[2], state[3])
for first = 1, #names, MAX_ITEMS do
  local some = {}
  for i = first, math.min(first + MAX_ITEMS - 1, #names) do some[#some + 1] = names[i] end
  for i, text in ipairs(redis.call('HMGET', GROUPS, unpack(some))) do
    local counted = tonumber(string.match(text or '', '^.(%d+) ') or 0)
    local actual = counts[some[i]] or 0
    if counted ~= actual and #wrong < MAX_ITEMS then
      wrong[#wrong + 1] = some[i]
      local n = #answer
      answer[n + 1], answer[n + 2], answer[n + 3] = some[i], counted, actual
    end
  end
end
if not repairs or #wrong == 0 then return answer end
read_groups(all, wrong, TURNS, GROUPS, GRULES)
check_groups(LINE, PLACES, TURNS, GROUPS, OPENS)
redis.call('ZCARD', IDLE)
redis.call('LLEN', READY)
redis.call('ZCARD', DUE)
for _, name in ipairs(wrong) do
  local g = all.of[name]
  g.flights = counts[name] or 0
end
tune_groups(all, STATE, LINE, PLACES, TURNS, GROUPS, OPENS)
if all.opened or all.alarmed then wake_repaired(state[4], state[5], state[2], ARGV[3], IDLE, READY, DUE, TURNS, OPENS) end
return answer
