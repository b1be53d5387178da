-- measure.lua: count what the attempts of a session have taken. It goes before the session's next call, in the same pipeline, and keeps no
-- place in …:inflight: so the call that carries jobs knows nothing of it. What is left when the session ends close_session.lua counts.
--
-- What holds: each number of a session counts once, however often and however late it is sent, and only while the session is in …:sessions.
-- The number is remembered in …:callers for as long as the session is there: closing it and reaping it remove the mark, and a copy that comes
-- later than that finds no session. So what a session had measured that was reaped before its call came is lost. The mark's instant lies
-- MARK_S ahead, so that nobody trims it of a session that lives, even where the clock steps ahead by days; of a session that was removed by
-- hand it goes after that time. A worker that has measured nothing for longer than that has no copy under way.
-- KEYS[1] …:measured  hash  see lib/measured.lua
-- KEYS[2] …:sessions  zset  session -> instant it lapses, Unix ms
-- KEYS[3] …:callers   zset  "measured <session>" -> MARK_S after it was sent, and number of what it sent last, see lib/callers.lua
-- ARGV[1] session; ARGV[2] number, one more than that of its last; ARGV[3...] see lib/measured.lua
-- Returns 1; 0 if it was counted before, or the session is gone.
local MEASURED, SESSIONS, CALLERS = KEYS[1], KEYS[2], KEYS[3]
-- uses: clock callers sums measured
local MARK_S = 30 * 86400
local mark, number = 'measured ' .. ARGV[1], tonumber(ARGV[2]) % ROUND
if not redis.call('ZSCORE', SESSIONS, ARGV[1]) then return 0 end
local last = redis.call('ZSCORE', CALLERS, mark)
local ahead = last and (number - tonumber(last) % ROUND) % ROUND or 1
if ahead == 0 or ahead >= ROUND / 2 then return 0 end
local changed = add_measured(MEASURED, ARGV, 3)

redis.call('ZADD', CALLERS, whole((now_s + MARK_S) * ROUND + number), mark)
if #changed > 0 then redis.call('HSET', MEASURED, unpack(changed)) end
return 1
