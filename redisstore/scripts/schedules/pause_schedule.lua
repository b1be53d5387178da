-- pause_schedule.lua: pause a schedule, or resume it. An occurrence that is due already still runs.
-- Model: PAUSE_BODY and RESUME_BODY in models/placing.pml.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:cursors    hash  schedule -> cursor
-- KEYS[3] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[4] …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[5] …:jobs       hash  job ID -> envelope
-- KEYS[6] …:crashes    hash  job ID -> times its holder vanished
-- KEYS[7] …:state      hash  fence, layout, groups, grules
-- KEYS[8] …:notes      hash  schedule -> note of its pause, see lib/note.lua
-- KEYS[9] …:counters   hash
-- KEYS[10] …:last      hash  schedule -> its last outcome, see lib/history.lua
-- KEYS[11] …:history   hash  schedule -> its last attempts
-- KEYS[12] …:zones     hash  schedule -> local time of its last occurrence, see lib/zones.lua
-- KEYS[13] …:line  zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[14] …:places  hash  job ID -> "<place> <group>"
-- KEYS[15] …:turns  zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[16] …:groups  hash  group -> its flights, tag and starts
-- KEYS[17] …:grules  hash  group -> its rule and pause
-- KEYS[18] …:opens  zset  group -> instant of its next start, Unix ms
-- KEYS[19] …:ends  zset  ends of pauses, see lib/ends.lua
-- KEYS[20] …:callers  zset  completed calls, see lib/closed.lua
-- ARGV[1] schedule; ARGV[2] paused, live, or over: live if the end of the pause has come; ARGV[3] its generation in the registry: a schedule with a later generation here is not changed
-- ARGV[4] the revision to change; empty: whatever is stored
-- ARGV[5] the note of the pause; empty: none; a schedule that is paused already keeps its note
-- ARGV[6] 1: a resumed schedule continues from now, and its missed instants are counted; then ARGV[7] to ARGV[13] are the revision and the cursor
-- that the caller has read, the instant from which it continues, how many instants it has missed until then, the first of them (empty: none), and
-- an error and a note for the history; empty: they are not known yet; ARGV[14] a unique name of this call: a late copy of it changes nothing, also if the
-- schedule was paused or resumed since
-- Returns time (us); a status; definition; cursor; 1 if it is owed its next occurrence now; the note of its pause if the status is -4;
-- its entry in zones, if it is owed (empty: none). The status is 1 changed, 0 nothing to change, -1
-- there is no such schedule, -2 its definition cannot be read, -3 it is not at the revision to change, -4 the caller must count its missed
-- instants. A schedule that is already in the wanted state is not changed, whatever its revision. A change draws a revision.
local SCHEDULES, CURSORS, OWED, DUE, JOBS, CRASHES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local STATE, NOTES, COUNTERS = KEYS[7], KEYS[8], KEYS[9]
local name, wanted, note, skips = ARGV[1], ARGV[2], ARGV[5], ARGV[6] == '1'
-- uses: callers clock closed ends layout strings instant seconds counters definition withdraw note history
local state = redis.call('HMGET', STATE, 'layout', 'groups', 'grules')
local refusal = newer(state[1])
if refusal then return refusal end
local text = redis.call('HGET', SCHEDULES, name)
redis.call('ZCARD', KEYS[19])
if not text then return { whole(now_us), -1, '', '', 0 } end
local h = head(text)
if not h then return { whole(now_us), -2, text, '', 0 } end
local stored_cursor = redis.call('HGET', CURSORS, name) or ''
local known_note = redis.call('HGET', NOTES, name)
if wanted == 'over' then
  if h.state ~= 'paused' or not is_over(known_note) then return { whole(now_us), 0, text, stored_cursor, 0 } end
  wanted = 'live'
end
if answered(KEYS[20], ARGV[14]) then return { whole(now_us), 0, text, stored_cursor, 0 } end
local renotes = wanted == 'paused' and h.state == 'paused' and note ~= '' and not is_noted(known_note, note)
if tonumber(h.generation) > tonumber(ARGV[3]) or not renotes and h.state ~= (wanted == 'paused' and 'live' or 'paused') then
  return { whole(now_us), 0, text, stored_cursor, 0 }
end
if ARGV[4] ~= '' and ARGV[4] ~= h.revision then return { whole(now_us), -3, text, stored_cursor, 0 } end
if skips and (ARGV[7] ~= h.revision or ARGV[8] ~= stored_cursor) then return { whole(now_us), -4, text, stored_cursor, 0, known_note or '' } end

local lined -- nil: no job has a group
if state[2] then
  local function pieces() -- a function has locals of its own: here they would be too many
    -- uses: limits queuelimit starts line groups lined
    return open_lined(state[2], state[3], KEYS[13], KEYS[14], KEYS[15], KEYS[16], KEYS[17], KEYS[18])
  end
  lined = pieces()
end
local at, used, kind = cursor(stored_cursor)
local waiting, ahead = untaken(DUE, JOBS, CRASHES, name, at, kind, lined)
if lined and wanted == 'paused' and ahead then lined.leave(waiting) end
local fence = math.max(tonumber(redis.call('HGET', STATE, 'fence') or 0) + 1, now_us, tonumber(h.revision) + 1)
redis.call('ZSCORE', OWED, name)
redis.call('HLEN', COUNTERS)
redis.call('HLEN', KEYS[11])
local zoned = redis.call('HGET', KEYS[12], name) or ''
local past = read_past(KEYS[10], skips and ARGV[11] ~= '' and { name } or {})
h.state, h.revision = wanted, whole(fence)
redis.call('ZREM', OWED, '') -- makes the other writes possible when the server is out of memory
redis.call('HSET', SCHEDULES, name, definition(h))
redis.call('HSET', STATE, 'fence', whole(fence))
remember_closed(KEYS[20], ARGV[14], 1)
if wanted == 'live' or note == '' and not renotes then
  redis.call('HDEL', NOTES, name)
else
  redis.call('HSET', NOTES, name, noted(note))
end
set_end(KEYS[19], 'schedule\t' .. name, wanted == 'live' and '' or note)
local owes = 0
if renotes then return { whole(now_us), 1, definition(h), stored_cursor, 0 } end
if wanted == 'paused' then
  if ahead then
    redis.call('ZREM', DUE, waiting)
    if lined then lined.save(STATE) end
    stored_cursor = withdrawn(at, math.max(used - 1, 0), h.created)
    if stored_cursor == '' then redis.call('HDEL', CURSORS, name) else redis.call('HSET', CURSORS, name, stored_cursor) end
  end
  redis.call('ZREM', OWED, name)
elseif skips then
  local from = ARGV[9]
  if waiting and at > from then from = at end -- it became due after the caller had counted
  stored_cursor = from .. ' ' .. whole(used) .. ' s'
  redis.call('HSET', CURSORS, name, stored_cursor)
  if tonumber(ARGV[10]) > 0 then
    redis.call('HINCRBY', COUNTERS, name .. MISSED, ARGV[10])
    redis.call('HINCRBY', COUNTERS, MISSED, ARGV[10])
  end
  if ARGV[11] ~= '' then -- one entry stands for all of them
    add_run(past, name, ARGV[11], 'missed|' .. whole(now_ms) .. '|' .. whole(now_ms) .. '|0|0||' .. ARGV[12] .. '\t' .. ARGV[13])
    save_past(past, KEYS[10], KEYS[11])
  end
  redis.call('ZADD', OWED, whole(now_ms), name)
  owes = 1
elseif not waiting then -- else its take will owe the next one
  if is_placed(kind) then
    stored_cursor = at .. ' ' .. whole(used) .. ' s' -- it was taken: the instants after it were missed
    redis.call('HSET', CURSORS, name, stored_cursor)
  end
  redis.call('ZADD', OWED, whole(now_ms), name)
  owes = 1
end
return { whole(now_us), 1, definition(h), stored_cursor, owes, '', zoned }
