-- purge_begin.lua: begin to purge the waiting jobs: ready becomes another list, which purge.lua empties step by step, and a new one begins. The same
-- happens to line, in which jobs of groups wait.
-- KEYS[1] …:state    hash  layout, stale, groups, purge: when a purge began that has not ended, Unix ms
-- KEYS[2] …:ready    list  IDs of jobs to run now
-- KEYS[3] …:stale    zset  IDs in ready that are void -> since when, Unix ms; see lib/stale.lua
-- KEYS[4] …:purged   list  the former ready
-- KEYS[5] …:spared   zset  the former stale
-- KEYS[6] …:callers  zset  completed calls, see lib/closed.lua
-- KEYS[7] …:line     zset  jobs of groups to run now, see lib/line.lua
-- KEYS[8] …:purgedline  zset  the former line
-- KEYS[9] …:turns  zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[10] …:opens  zset  group -> instant of its next start, Unix ms
-- ARGV[1] a unique name of this call
-- Returns time (us); 1, or 0: another purge has not ended, and nothing was done.

-- While state has the field purge:
--   - An ID in purged that is not in spared belongs to a job that waited when the purge began. It is in no other list and in no flight, and its
--     envelope, if it has one, is unchanged: only takes and discard.lua would change it, takes do not read purged, and discard.lua waits until
--     the purge has ended.
--   - An ID in spared was void when the purge began: if it has a job now, that job came later or is in due, and remains.
--   - stale has IDs of the new ready only.
--   - No group of a job in purgedline is in turns or opens, unless other jobs of it came later. Its entry in groups may have where = t or o until
--     purge.lua comes to it: read_groups of lib/groups.lua looks in turns.
--   - A job in purgedline waited in line when the purge began, and is in no other place. Its envelope and its entry in places are unchanged.
local STATE, READY, STALE, PURGED, SPARED, CALLERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local LINE, PURGEDLINE, TURNS, OPENS = KEYS[7], KEYS[8], KEYS[9], KEYS[10]
-- uses: limits callers clock layout closed
local state = redis.call('HMGET', STATE, 'layout', 'purge', 'groups')
local refusal = newer(state[1])
if refusal then return refusal end
if answered(CALLERS, ARGV[1]) then return { whole(now_us), 1 } end
local left, spared = redis.call('LLEN', PURGED), redis.call('ZCARD', SPARED)
if state[2] or left > 0 or spared > 0 or redis.call('ZCARD', PURGEDLINE) > 0 then return { whole(now_us), 0 } end
local waiting, void, lined = redis.call('LLEN', READY), redis.call('ZCARD', STALE), redis.call('ZCARD', LINE)
redis.call('ZCARD', TURNS)
redis.call('ZCARD', OPENS)
redis.call('ZREM', STALE, '') -- makes the other writes possible when the server is out of memory
if waiting > 0 then
  redis.call('RENAME', READY, PURGED)
  if void > 0 then redis.call('RENAME', STALE, SPARED) end
  redis.call('HDEL', STATE, 'stale')
end
if lined > 0 then
  redis.call('RENAME', LINE, PURGEDLINE)
  redis.call('DEL', TURNS)
  redis.call('DEL', OPENS)
  local virtual, drawn = string.match(state[3] or '', '^(%d+) %d+ %d+( %d+ %d+)$')
  if virtual then redis.call('HSET', STATE, 'groups', virtual .. ' 0 0' .. drawn) end
end
if waiting + lined > 0 then redis.call('HSET', STATE, 'purge', whole(now_ms)) end
remember_closed(CALLERS, ARGV[1], 1)
return { whole(now_us), 1 }
