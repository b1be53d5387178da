-- replan.lua: withdraw occurrences that were planned with other time zone data, so that they are placed again at the right instants. An occurrence
-- is withdrawn while it waits in due, or in line, even if it is due.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:cursors    hash  schedule -> cursor
-- KEYS[3] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[4] …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[5] …:jobs       hash  job ID -> envelope
-- KEYS[6] …:crashes    hash  job ID -> times its holder vanished
-- KEYS[7] …:state      hash  layout, groups, grules
-- KEYS[8] …:line  zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[9] …:places  hash  job ID -> "<place> <group>"
-- KEYS[10] …:turns  zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[11] …:groups  hash  group -> its flights, tag and starts
-- KEYS[12] …:grules  hash  group -> its rule and pause
-- KEYS[13] …:opens  zset  group -> instant of its next start, Unix ms
-- ARGV four values for each schedule, at most 500: name, revision and cursor as the caller has read them, the instant to which the cursor goes
-- back, which is before the occurrence and before the instant at which it is placed again
-- Returns time (us), then a text for each: the new cursor; empty: nothing was changed, because another process has taken, placed or changed it.
--
--   placed ──replan──► owed, the cursor is before the occurrence ──place──► placed
-- The entry in zones is not changed: see lib/zones.lua. So whichever process places the next one, and with whichever data, its local time is
-- not one that was used up.
local SCHEDULES, CURSORS, OWED, DUE, JOBS, CRASHES, STATE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local FIELDS = 4
-- uses: clock layout instant seconds definition withdraw
local state = redis.call('HMGET', STATE, 'layout', 'groups', 'grules')
local refusal = newer(state[1])
if refusal then return refusal end
local lined -- nil: no job has a group
if state[2] then
  local function pieces() -- a function has locals of its own: here they would be too many
    -- uses: limits queuelimit starts line groups lined
    return open_lined(state[2], state[3], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13])
  end
  lined = pieces()
end

local answer, ids, cursors_now, owes, done = { whole(now_us) }, {}, {}, {}, {}
redis.call('ZSCORE', OWED, '')
for i = 1, #ARGV, FIELDS do
  local name, revision, seen, back = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local stored = redis.call('HGET', CURSORS, name)
  local h = stored == seen and not done[name] and head(redis.call('HGET', SCHEDULES, name))
  local at, used, kind = cursor(stored)
  local id = h and h.state == 'live' and h.revision == revision and kind == 'p' and back < at and untaken(DUE, JOBS, CRASHES, name, at, kind, lined)
  local now_cursor = id and back .. ' ' .. whole(math.max(used - 1, 0)) .. ' s' or ''
  if id then
    done[name] = true
    if lined then lined.leave(id) end
    ids[#ids + 1] = id
    cursors_now[#cursors_now + 1], cursors_now[#cursors_now + 2] = name, now_cursor
    owes[#owes + 1], owes[#owes + 2] = whole(now_ms), name
  end
  answer[#answer + 1] = now_cursor
end
if #ids == 0 then return answer end
redis.call('ZREM', DUE, unpack(ids))
if lined then lined.save(STATE) end
redis.call('HSET', CURSORS, unpack(cursors_now))
redis.call('ZADD', OWED, unpack(owes))
return answer
