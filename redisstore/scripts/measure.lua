-- measure.lua: count what the attempts of a session have taken. It goes before the session's next call, in the same pipeline, and keeps no
-- place in …:inflight: so the call that carries jobs knows nothing of it.
--
-- What holds: each number of a session counts once, however often it is sent, and only while the session is in …:sessions. The number is
-- remembered in …:callers, where closing the session removes it and sweeping what was left by a session that was reaped; a copy that comes
-- later than that finds no session. So what a session had measured that was reaped before its call came is lost.
-- KEYS[1] …:measured  hash  L, W, R: durations of lateness, wait and run; n<job name>: of jobs of that name; names: "\t<name>\t<name>…",
--         those that are counted by name until the hour ends; texts of the piece sums
-- KEYS[2] …:sessions  zset  session -> instant it lapses, Unix ms
-- KEYS[3] …:callers   zset  "measured <session>" -> instant and number of what it sent last, see lib/callers.lua
-- ARGV[1] session; ARGV[2] number, one more than that of its last; ARGV[3] to ARGV[5] lateness, wait, run
-- ARGV[6...] two values a job name: name, text
-- Returns 1; 0 if it was counted before, or the session is gone.
local MEASURED, SESSIONS, CALLERS = KEYS[1], KEYS[2], KEYS[3]
-- uses: clock callers sums
local mark, number = 'measured ' .. ARGV[1], tonumber(ARGV[2]) % ROUND
if not redis.call('ZSCORE', SESSIONS, ARGV[1]) then return 0 end
local last = redis.call('ZSCORE', CALLERS, mark)
local ahead = last and (number - tonumber(last) % ROUND) % ROUND or 1
if ahead == 0 or ahead >= ROUND / 2 then return 0 end

local fields, texts = { 'L', 'W', 'R' }, { ARGV[3], ARGV[4], ARGV[5] }
local names = redis.call('HGET', MEASURED, 'names') or ''
local known, n_known = names, 0
for _ in string.gmatch(names, '\t') do n_known = n_known + 1 end
local at = {} -- field -> its position
for i = 6, #ARGV - 1, 2 do
  local name = ARGV[i]
  if not string.find(known .. '\t', '\t' .. name .. '\t', 1, true) then
    if name ~= OTHER_NAMES and n_known < MAX_NAMES then
      known, n_known = known .. '\t' .. name, n_known + 1
    else
      name = OTHER_NAMES
    end
  end
  local field = 'n' .. name
  if at[field] then
    texts[at[field]] = add_sums(texts[at[field]], ARGV[i + 1])
  else
    fields[#fields + 1], texts[#texts + 1], at[field] = field, ARGV[i + 1], #fields + 1
  end
end
local stored, changed = redis.call('HMGET', MEASURED, unpack(fields)), {}
for i, field in ipairs(fields) do
  if texts[i] ~= '' then changed[#changed + 1], changed[#changed + 2] = field, add_sums(stored[i], texts[i]) end
end
if known ~= names then changed[#changed + 1], changed[#changed + 2] = 'names', known end

redis.call('ZADD', CALLERS, whole(now_s * ROUND + number), mark)
if #changed > 0 then redis.call('HSET', MEASURED, unpack(changed)) end
return 1
