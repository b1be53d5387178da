-- verify_opens.lua: say which schedules are held by an occurrence that is not in flight and waits nowhere. It writes nothing; free_opens.lua
-- lets them go.
-- KEYS[1] …:open    hash  schedule -> see lib/open.lua
-- KEYS[2] …:ready   list  IDs of jobs to run now
-- KEYS[3] …:state   hash  layout, purge
-- KEYS[4...] …:inflight:<session>  hash  job ID -> fence
-- ARGV three values for each schedule: name, its entry in open, the position of its session among KEYS[4...] (0: it has none)
-- Returns the names of those that are held so, and whose entries are as the caller has read them.
local OPEN, READY, STATE = KEYS[1], KEYS[2], KEYS[3]
local INFLIGHT = 3 -- the hashes of the sessions come after KEYS[3]
local DEPTH = 10000 -- how deep ready is searched: what a schedule is held for went to its front
-- uses: layout open
local state = redis.call('HMGET', STATE, 'layout', 'purge')
local refusal = newer(state[1])
if refusal then return refusal end
local answer, names = {}, {}
for i = 1, #ARGV, 3 do names[#names + 1] = ARGV[i] end
for i, stored in ipairs(redis.call('HMGET', OPEN, unpack(names))) do
  local entry, position = ARGV[3 * i - 1], tonumber(ARGV[3 * i])
  local id, fence = opened(entry)
  if stored == entry and not id then
    answer[#answer + 1] = names[i]
  elseif stored == entry and fence ~= '-' then
    local there
    if fence == '0' then
      -- what is to be purged is ended by the purge
      there = state[2] or redis.call('LPOS', READY, id, 'MAXLEN', DEPTH)
    else
      local held = position > 0 and redis.call('HGET', KEYS[INFLIGHT + position], id)
      there = held and string.match(held, '%d+$') == fence
    end
    if not there then answer[#answer + 1] = names[i] end
  end
end
return answer
