-- move_begin.lua: begin to move a schedule to another queue. An occurrence that was not taken is withdrawn, and the definition becomes
-- a mark: it places nothing more, but jobs that are still in flight, parked or retried here run with it. The name remains in owed until
-- the move is complete. A schedule that moves already keeps its mark.
--
-- An occurrence that is due and not taken is withdrawn too, unlike at a change: the cursor goes back to the second before it (for the
-- run at creation: there is no cursor then), so that the new queue places it again. If it were dropped here (too late, or another one runs), its
-- run could not be given back to the count there: no script reaches both queues. For the same reason an occurrence that was taken here is not
-- dropped any more if the schedule has a count.
-- Model: BEGIN_BODY in models/home.pml.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:cursors    hash  schedule -> cursor
-- KEYS[3] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[4] …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[5] …:jobs       hash  job ID -> envelope
-- KEYS[6] …:crashes    hash  job ID -> times its holder vanished
-- KEYS[7] …:state      hash  fence, layout, groups, grules
-- KEYS[8] …:gone       zset  schedule that lived here -> when it left or was deleted, Unix us: the sweep removes the mark after 7 days
-- KEYS[9] …:counters   hash
-- KEYS[10] …:origins   hash  schedule -> queues that it has left, separated by spaces: the counts of runs that had not ended are there
-- KEYS[11] …:notes     hash  schedule -> note of its pause
-- KEYS[12] …:owners    hash  schedule -> its owner, see lib/owner.lua
-- KEYS[13] …:last      hash  schedule -> its last outcome, see lib/history.lua
-- KEYS[14] …:history   hash  schedule -> its last attempts, see lib/history.lua: both remain, because runs that were taken here end here; the days move with the schedule, and start from 0 here
-- KEYS[15] …:zones     hash  schedule -> local time of its last occurrence, see lib/zones.lua: it remains until the mark is removed, so that a repeated call returns it
-- KEYS[16] …:line  zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[17] …:places  hash  job ID -> "<place> <group>"
-- KEYS[18] …:turns  zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[19] …:groups  hash  group -> its flights, tag and starts
-- KEYS[20] …:grules  hash  group -> its rule and pause
-- KEYS[21] …:opens  zset  group -> instant of its next start, Unix ms
-- ARGV[1] schedule; ARGV[2] the new queue; ARGV[3] its generation in the registry; ARGV[4] its new generation is higher
-- than this one; ARGV[5] this queue; ARGV[6] the revision to move (empty: any); ARGV[7] 1: move nothing
-- that is stored; ARGV[8], ARGV[9] the owner that declares it (empty: none) and its version: a schedule of a higher version is not moved; ARGV[10]
-- 1: that version is succeeded, and a schedule that is not its owner's is not moved (else empty); ARGV[11] the newest form of a definition that the
-- caller can read (0: any), a newer one is not moved: for both see declare.lua; ARGV[12] 1: the registry has the schedule in the other queue, and
-- the definition of exactly that generation yields: its mark keeps the generation, and nothing is owed (else empty)
-- Returns the mark (empty: there is nothing of that generation to move); its cursor; the queues that it has left, including this
-- one; the generation of its definition if that is later than the registry's, else empty; its note; its owner; why it is not moved:
-- "conflict", "outdated" or "newer", else empty; then its definition; its last outcome; its last attempts; if there is nothing, a new generation; its
-- entry in zones (empty: none).
-- A mark's state is "moved to <queue> <state before> <since when the next occurrence is owed, Unix ms> <counters, separated by slashes>";
-- its generation is the schedule's next one in the registry and in the new queue. From here on the counters count from 0.
local SCHEDULES, CURSORS, OWED, DUE, JOBS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local CRASHES, STATE, GONE, COUNTERS, ORIGINS = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local NOTES, OWNERS = KEYS[11], KEYS[12]
local name, generation, floor = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
local yields = ARGV[12] == '1'
-- uses: clock layout counters instant seconds definition form owed withdraw owner strings history
local state = redis.call('HMGET', STATE, 'layout', 'groups', 'grules')
local refusal = newer(state[1])
if refusal then return refusal end
local text = redis.call('HGET', SCHEDULES, name)
local h = head(text)
local stored_cursor = redis.call('HGET', CURSORS, name) or ''
local since = owed_since(redis.call('ZSCORE', OWED, name))
local gone = redis.call('ZSCORE', GONE, name)
local fence = math.max(tonumber(redis.call('HGET', STATE, 'fence') or 0), now_us, generation, floor, tonumber(gone or 0)) + 1
local counts = redis.call('HMGET', COUNTERS, counters_of(name))
for i = 1, #counts do counts[i] = counts[i] or '0' end
local origins = (redis.call('HGET', ORIGINS, name) or '') .. ' ' .. ARGV[5]
local note, owner = redis.call('HGET', NOTES, name) or '', redis.call('HGET', OWNERS, name) or ''
local last, history = redis.call('HGET', KEYS[13], name) or '', redis.call('HGET', KEYS[14], name) or ''
local zoned = redis.call('HGET', KEYS[15], name) or ''
local histories = entries()
local past = histories.parse(history)

if h and is_mark(h.state) and tonumber(h.generation) > generation then
  history = history ~= '' and histories.text(KEYS[14], past, past.left or '') or '' -- runs counted here since then remain here
  if tonumber(h.generation) <= floor then
    h.generation = whole(fence)
    redis.call('HSET', SCHEDULES, name, definition(h))
  end
  return { definition(h), stored_cursor, origins, '', note, owner, '', '', last, history, '', zoned }
elseif h and tonumber(h.generation) > generation then
  return { '', '', '', h.generation, '', '', '', '' }
elseif not h or is_mark(h.state) then
  -- a late or repeated creation finds that this generation is gone
  if yields then return { '', '', '', '', '', '', '', '' } end
  if tonumber(gone or 0) < generation then redis.call('ZADD', GONE, whole(generation), name) end
  redis.call('HSET', STATE, 'fence', whole(fence))
  return { '', '', '', '', '', '', '', '', '', '', whole(fence) }
end
if yields and h.generation ~= ARGV[3] then return { '', '', '', '', '', '', '', '' } end
local lined -- nil: no job has a group
if state[2] then
  local function pieces() -- a function has locals of its own: here they would be too many
    -- uses: limits queuelimit starts line groups lined
    return open_lined(state[2], state[3], KEYS[16], KEYS[17], KEYS[18], KEYS[19], KEYS[20], KEYS[21])
  end
  lined = pieces()
end
local at, used, kind = cursor(stored_cursor)
local waiting = untaken(DUE, JOBS, CRASHES, name, at, kind, lined)
local known_version = ARGV[8] ~= '' and version_of(owner, ARGV[8])
local refused = (known_version and is_lower(ARGV[9], known_version) or not known_version and ARGV[10] == '1') and 'outdated' or
  has_newer_form(h, ARGV[11]) and 'newer' or
  (ARGV[7] == '1' or ARGV[6] ~= '' and ARGV[6] ~= h.revision) and 'conflict'
if refused == 'newer' and known_version then redis.call('HSET', OWNERS, name, ARGV[8] .. ' ' .. ARGV[9]) end
if refused then return { '', '', '', '', '', '', refused, text } end

local remains = nil -- the head here: the days leave
if history ~= '' then
  local days = past.days
  history = histories.text(KEYS[14], past, days, past.left)
  past.days, past.left = '', days
  remains = past.short and histories.head(past) or histories.text(KEYS[14], past, '', days)
end
since = math.min(since or now_ms, now_ms) -- a postponed one has an instant later than now
if waiting and lined then lined.leave(waiting) end
if waiting then
  redis.call('ZREM', DUE, waiting)
  if lined then lined.save(STATE) end
  stored_cursor = withdrawn(at, math.max(used - 1, 0), h.created)
  if stored_cursor == '' then redis.call('HDEL', CURSORS, name) else redis.call('HSET', CURSORS, name, stored_cursor) end
  if kind == 'c' then counts[CAUGHT_UP_AT] = whole(math.max((tonumber(counts[CAUGHT_UP_AT]) or 0) - 1, 0)) end -- it is counted when it is placed again
end
while #counts > 5 and counts[#counts] == '0' do counts[#counts] = nil end -- a program that does not know all of them may complete the move
h.state = 'moved to ' .. ARGV[2] .. ' ' .. h.state .. ' ' .. whole(since) .. ' ' .. table.concat(counts, '/')
if not yields then h.generation = whole(fence) end
redis.call('HSET', SCHEDULES, name, definition(h))
redis.call('HSET', STATE, 'fence', whole(fence))
redis.call('ZADD', GONE, whole(now_us), name)
if yields then redis.call('ZREM', OWED, name) else redis.call('ZADD', OWED, whole(since), name) end
redis.call('HDEL', COUNTERS, counters_of(name))
if remains then redis.call('HSET', KEYS[14], name, remains) end
return { definition(h), stored_cursor, origins, '', note, owner, '', '', last, history, '', zoned }
