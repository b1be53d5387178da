-- verify_opens.lua: list the schedules that are held by an occurrence that is neither in flight nor waiting, or have an entry that cannot be
-- read. It writes nothing; free_opens.lua releases them.
-- KEYS[1] …:open      hash  schedule -> see lib/open.lua
-- KEYS[2] …:ready     list  IDs of jobs to run now
-- KEYS[3] …:state     hash  layout, purge, groups
-- KEYS[4] …:sessions  zset  session -> instant it lapses, Unix ms
-- KEYS[5] …:line      zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[6] …:places    hash  job ID -> "<place> <group>"
-- KEYS[7] …:due       zset  job ID -> instant it is due, Unix ms
-- KEYS[8...] …:inflight:<session>  hash  job ID -> fence
-- ARGV[1] how many hashes; ARGV[2...] their sessions; then three values for each schedule: name, its entry in open, the position of its session
-- among KEYS[8...] (0: it has none)
-- Returns the names of those that are held so, and whose entries have not changed since the caller read them.

-- An occurrence that waits in ready, or in line, may be taken after its definition was removed. Then open does not record that it is in flight: it is
-- searched for in all sessions, and if one of these is not in KEYS, nothing is returned.
local OPEN, READY, STATE, SESSIONS = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local INFLIGHT = 7 -- the hashes of the sessions come after KEYS[7]
local DEPTH = 10000 -- how deep ready is searched: an occurrence for which a schedule is held was put at its front
local n_sessions = tonumber(ARGV[1])
-- uses: layout open line
local state = redis.call('HMGET', STATE, 'layout', 'purge', 'groups')
local refusal = newer(state[1])
if refusal then return refusal end
local known, unknown = {}, false
for i = 2, n_sessions + 1 do known[ARGV[i]] = true end
for _, session in ipairs(redis.call('ZRANGE', SESSIONS, 0, -1)) do
  if not known[session] then unknown = true end
end

-- waits reports whether an occurrence is in ready, or in line, or in flight, or about to be purged (the purge records its end).
local function waits(id)
  if unknown or state[2] or redis.call('LLEN', READY) > DEPTH or redis.call('LPOS', READY, id) then return true end
  if find_grouped(state[3], KEYS[6], KEYS[5], { id }).members[1] then return true end
  if redis.call('ZSCORE', KEYS[7], id) then return true end -- a suspect that waits for another one
  for s = 1, n_sessions do
    if redis.call('HEXISTS', KEYS[INFLIGHT + s], id) == 1 then return true end
  end
end

local answer, names = {}, {}
for i = n_sessions + 2, #ARGV, 3 do names[#names + 1] = ARGV[i] end
for i, stored in ipairs(redis.call('HMGET', OPEN, unpack(names))) do
  local entry, position = ARGV[n_sessions + 3 * i], tonumber(ARGV[n_sessions + 3 * i + 1])
  local id, fence = opened(entry)
  if stored == entry and fence ~= '-' then
    local there
    if fence == '0' then
      there = waits(id)
    elseif id then
      local held = position > 0 and redis.call('HGET', KEYS[INFLIGHT + position], id)
      there = held and string.match(held, '%d+$') == fence
    end
    if not there then answer[#answer + 1] = names[i] end
  end
end
return answer
