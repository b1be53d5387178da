-- move_begin.lua: begin to move a schedule to another queue. An occurrence that nobody has taken is withdrawn, and the definition becomes
-- a mark: it places nothing more, but what is still in flight, parked or to be retried here runs with it. The name stays in owed until
-- the move is done. A schedule that moves already keeps its mark.
--
-- What is due and not taken is withdrawn too, unlike at a change: the cursor goes back to the second before it (of the
-- run at creation: to none), so that the new queue places it again. If it were dropped here (too late, or another one runs), its run could not be given back to the count there: no
-- script reaches both queues. For the same reason nothing that was taken here is dropped any more if the schedule has a count.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:cursors    hash  schedule -> cursor
-- KEYS[3] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[4] …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[5] …:jobs       hash  job ID -> envelope
-- KEYS[6] …:crashes    hash  job ID -> times its holder vanished
-- KEYS[7] …:state      hash  fence
-- KEYS[8] …:gone       zset  schedule that lived here -> when it left or was deleted, Unix us: the sweep removes the mark after 7 days
-- KEYS[9] …:counters   hash
-- KEYS[10] …:origins   hash  schedule -> queues that it has left, separated by spaces: counts of what still ran there are there
-- KEYS[11] …:notes     hash  schedule -> note of its pause
-- KEYS[12] …:owners    hash  schedule -> who declared it, see lib/owner.lua
-- KEYS[13] …:last      hash  schedule -> how it went last, see lib/history.lua
-- KEYS[14] …:history   hash  schedule -> its last attempts, see lib/history.lua: both stay, for what was taken here ends here; the days that it has go with the schedule, and count from 0
-- ARGV[1] schedule; ARGV[2] the queue it goes to; ARGV[3] its generation in the registry; ARGV[4] the generation that it gets is higher
-- than this one; ARGV[5] this queue; ARGV[6] the revision to move (empty: whatever is stored); ARGV[7] 1: nothing that is stored is to be
-- moved; ARGV[8], ARGV[9] the owner that declares it (empty: none) and its version: what a higher version has declared stays; ARGV[10]
-- 1: that version is succeeded, and what is not its owner's stays (else empty); ARGV[11] the newest form of a definition that the caller can
-- read (0: any), a newer one stays: for both see declare.lua
-- Returns the mark (empty: there is nothing of that generation to move); its cursor; the queues that it has left, this
-- one too; the generation of its definition if that is later than the registry's, else empty; its note; its owner; why it is not to be moved:
-- "conflict", "outdated" or "newer", else empty; then its definition; how it went last; its last attempts.
-- A mark's state is "moved to <queue> <state before> <since when the next occurrence is owed, Unix ms> <counters, separated by slashes>";
-- its generation is the one that the schedule gets in the registry and in the new queue. From here on the counters count from 0.
local SCHEDULES, CURSORS, OWED, DUE, JOBS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local CRASHES, STATE, GONE, COUNTERS, ORIGINS = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local NOTES, OWNERS = KEYS[11], KEYS[12]
local name, generation, floor = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
-- uses: clock counters instant seconds definition form owed withdraw owner strings history
local text = redis.call('HGET', SCHEDULES, name)
local h = head(text)
local stored_cursor = redis.call('HGET', CURSORS, name) or ''
local since = owed_since(redis.call('ZSCORE', OWED, name))
local gone = redis.call('ZSCORE', GONE, name)
local fence = math.max(tonumber(redis.call('HGET', STATE, 'fence') or 0), now_us, generation, floor) + 1
local counts = redis.call('HMGET', COUNTERS, counters_of(name))
for i = 1, #counts do counts[i] = counts[i] or '0' end
local origins = (redis.call('HGET', ORIGINS, name) or '') .. ' ' .. ARGV[5]
local note, owner = redis.call('HGET', NOTES, name) or '', redis.call('HGET', OWNERS, name) or ''
local last, history = redis.call('HGET', KEYS[13], name) or '', redis.call('HGET', KEYS[14], name) or ''
local history_of, history_text = entries()
local n_runs, notes, days, left, runs = history_of(history)

if h and is_mark(h.state) and tonumber(h.generation) > generation then
  if tonumber(h.generation) <= floor then
    h.generation = whole(fence)
    redis.call('HSET', SCHEDULES, name, definition(h))
  end
  -- what was counted here since stays here
  return { definition(h), stored_cursor, origins, '', note, owner, '', '', last, history == '' and '' or history_text(n_runs, notes, left or '', nil, runs) }
elseif h and tonumber(h.generation) > generation then
  return { '', '', '', h.generation, '', '', '', '' }
elseif not h or is_mark(h.state) then
  -- a creation that comes late, or is sent again, finds that this generation is gone
  if tonumber(gone or 0) < generation then redis.call('ZADD', GONE, whole(math.max(now_us, generation)), name) end
  return { '', '', '', '', '', '', '', '' }
end
local at, used, kind = cursor(stored_cursor)
local waiting = untaken(DUE, JOBS, CRASHES, name, at, kind)
local known_version = ARGV[8] ~= '' and version_of(owner, ARGV[8])
local refused = (known_version and is_lower(ARGV[9], known_version) or not known_version and ARGV[10] == '1') and 'outdated' or
  has_newer_form(h, ARGV[11]) and 'newer' or
  (ARGV[7] == '1' or ARGV[6] ~= '' and ARGV[6] ~= h.revision) and 'conflict'
if refused == 'newer' and known_version then redis.call('HSET', OWNERS, name, ARGV[8] .. ' ' .. ARGV[9]) end
if refused then return { '', '', '', '', '', '', refused, text } end

since = math.min(since or now_ms, now_ms) -- what was postponed has an instant later than now
if waiting then
  redis.call('ZREM', DUE, waiting)
  stored_cursor = withdrawn(at, math.max(used - 1, 0), h.created)
  if stored_cursor == '' then redis.call('HDEL', CURSORS, name) else redis.call('HSET', CURSORS, name, stored_cursor) end
  if kind == 'c' then counts[CAUGHT_UP_AT] = whole(math.max((tonumber(counts[CAUGHT_UP_AT]) or 0) - 1, 0)) end -- it counts when it is placed again
end
while #counts > 5 and counts[#counts] == '0' do counts[#counts] = nil end -- a program that does not know them all may take them over
h.state = 'moved to ' .. ARGV[2] .. ' ' .. h.state .. ' ' .. whole(since) .. ' ' .. table.concat(counts, '/')
h.generation = whole(fence)
redis.call('HSET', SCHEDULES, name, definition(h))
redis.call('HSET', STATE, 'fence', whole(fence))
redis.call('ZADD', GONE, whole(now_us), name)
redis.call('ZADD', OWED, whole(since), name)
redis.call('HDEL', COUNTERS, counters_of(name))
if history ~= '' then redis.call('HSET', KEYS[14], name, history_text(n_runs, notes, '', days, runs)) end
return { definition(h), stored_cursor, origins, '', note, owner, '', '', last, history }
