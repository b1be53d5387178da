-- declare.lua: create schedules and change them. A definition that is stored already is not written again.
-- Model: CHANGE_BODY in models/placing.pml.
-- KEYS[1] …:schedules  hash  schedule -> definition, JSON
-- KEYS[2] …:cursors    hash  schedule -> "<planned instant> <runs used> <kind>"
-- KEYS[3] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[4] …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[5] …:state      hash  fence, layout, large, groups, grules
-- KEYS[6] …:jobs       hash  job ID -> envelope
-- KEYS[7] …:crashes    hash  job ID -> times its holder vanished
-- KEYS[8] …:gone       zset  schedule that lived here -> when it left or was deleted, Unix us
-- KEYS[9] …:counters   hash
-- KEYS[10] …:notes     hash  schedule -> note of its pause, see lib/note.lua
-- KEYS[11] …:owners    hash  schedule -> its owner, see lib/owner.lua
-- KEYS[12] …:last     hash  schedule -> its last outcome, see lib/history.lua
-- KEYS[13] …:history  hash  schedule -> its last attempts
-- KEYS[14] …:callers  zset  completed calls, see lib/closed.lua
-- KEYS[15] …:idle     zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[16] …:zones    hash  schedule -> local time of its last occurrence, see lib/zones.lua: a new schedule has none
-- KEYS[17] …:line  zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[18] …:places  hash  job ID -> "<place> <group>"
-- KEYS[19] …:turns  zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[20] …:groups  hash  group -> its flights, tag and starts
-- KEYS[21] …:grules  hash  group -> its rule and pause
-- KEYS[22] …:opens  zset  group -> instant of its next start, Unix ms
-- KEYS[23] …:ends  zset  ends of pauses, see lib/ends.lua
--
-- The owner of a schedule, by its definition and its record in owners:
--   a definition, a record     that version of that owner was the last to declare it
--   a definition, no record    it was put, or declared without an owner
--   no definition, a record    that version of that owner has pruned it, or it was deleted after that owner had declared it
--   no definition, no record   it never existed, or its record was removed
-- The higher one of two versions of an owner decides; between two owners the last declaration decides. An owner's version is succeeded once a
-- higher one has pruned (…:pruned, which has another hash tag: the caller has read it). A succeeded version does not adopt a schedule of another
-- owner or without an owner, existing or deleted: else a process of it that starts late would adopt it, and the next pruning would delete it.
-- ARGV nineteen values for each schedule: name; its generation in the registry; when a schedule of that name was deleted, Unix ms (0:
-- unknown); overlap policy; the rest of its definition (a JSON object); the revision that the caller has read, which a change changes; and
-- for a change of its recurrence, else three times empty: the cursor that the caller has read, the instant until which the old recurrence
-- counts, how many of its instants were missed; then the revision to change: nothing is created and no other revision is changed (empty:
-- any revision); 1: create only (else empty); the note of the pause in which it is created (empty: it is live); the owner that
-- declares it (empty: none) and its version; how many attempts its history keeps; the number of consecutive deaths at which it is paused (0: never);
-- 1: the owner's version is succeeded (else empty); the newest form of a definition that the caller can read (0: any);
-- a unique name of this declaration
-- Returns time (us), then seven values for each schedule: status; definition before; definition now; cursor now; since when its next occurrence
-- is owed, Unix ms, if this call makes it owed, else -1; a generation; its entry in zones (empty: none). The status is
--   0 unchanged, 1 new, 2 changed
--   3 it is moving, or has moved, to another queue
--   4 it was deleted here or moved away after that generation was drawn: the answer has the last generation that is gone
--   5 the registry is behind: the answer has the generation that is stored here
--   6 its recurrence changes: the caller must count the missed instants of the old one, and declare again
--   7 it changes: the caller must declare again with the stored revision
--   8 it would change, and the caller has read another revision
--   9 a higher version of its owner has declared it, or has pruned it, or the owner's version is succeeded and the schedule is not its own. If
--   it does not exist, that generation is gone
--   10 it does not exist, and the caller has read one
--   11 its definition has a newer form than the caller can read: it does not change, and if a lower version of its owner has declared it, this
--   version becomes its owner, which would prune it otherwise
--   12 this declaration was carried out before, its answer was lost, and others have changed or deleted the schedule since: it does not change
-- A definition that is stored already changes nothing, whatever revision the caller has read; but a higher version of its owner adopts it.
local SCHEDULES, CURSORS, OWED, DUE, STATE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local JOBS, CRASHES, GONE, COUNTERS = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local NOTES, OWNERS, LAST, HISTORY = KEYS[10], KEYS[11], KEYS[12], KEYS[13]
local FIELDS = 19
-- uses: limits callers clock closed ends layout instant seconds strings counters definition form rule owed withdraw note owner last histories
local state = redis.call('HMGET', STATE, 'fence', 'layout', 'groups', 'grules')
local refusal = newer(state[2])
if refusal then return refusal end

local names = {}
for i = 1, #ARGV, FIELDS do names[#names + 1] = ARGV[i] end
local stored = redis.call('HMGET', SCHEDULES, unpack(names))
local cursors = redis.call('HMGET', CURSORS, unpack(names))
local since = redis.call('ZMSCORE', OWED, unpack(names))
local gone = redis.call('ZMSCORE', GONE, unpack(names))
local owners = redis.call('HMGET', OWNERS, unpack(names))
redis.call('HLEN', COUNTERS) -- its type is checked before the first write, and so is that of the next one
redis.call('HLEN', NOTES)
redis.call('ZCARD', KEYS[23])
local lasts = redis.call('HMGET', LAST, unpack(names))
redis.call('HLEN', HISTORY)
local zones = redis.call('HMGET', KEYS[16], unpack(names))
local draw = math.max(tonumber(state[1] or 0) + 1, now_us)
local lined -- nil: no job has a group
if state[3] then
  local function pieces() -- a function has locals of its own: here they would be too many
    -- uses: queuelimit starts line groups lined
    return open_lined(state[3], state[4], KEYS[17], KEYS[18], KEYS[19], KEYS[20], KEYS[21], KEYS[22])
  end
  lined = pieces()
end

-- create plans a new schedule. It is created in a later second than any deletion of that name, for two reasons: IDs of occurrences must not
-- repeat, and the creation of a copy that comes back after a loss must be older than the deletion.
local function create(plan, declared, before, deleted_ms)
  local ended_s, created_ms = math.floor(deleted_ms / 1000), now_ms
  if ended_s >= now_s or before then created_ms = (math.max(ended_s, now_s) + 1) * 1000 end
  plan.status, plan.state, plan.cursor, plan.forgets, plan.owed = 1, declared.note ~= '' and 'paused' or 'live', '', true, now_ms
  plan.text = definition({ revision = whole(draw), generation = declared.generation, state = plan.state, created = instant_ms(created_ms),
    overlap = declared.overlap, rest = declared.rest })
  draw = draw + 1
end

-- change plans a new definition of a schedule, whose head is h. An occurrence in the future is withdrawn; one that is due already remains
-- and runs with the new definition. A new recurrence ends the catching up of the old one: its due occurrences run like any others.
local function change(plan, declared, h, i)
  local name, same_rule = declared.name, rule(h.rest) == rule(declared.rest)
  if not same_rule and (declared.seen_revision ~= h.revision or declared.seen_cursor ~= plan.cursor) then
    plan.status = 6
    return
  elseif declared.seen_revision ~= h.revision then
    plan.status = 7
    return
  end
  local at, used, kind = cursor(cursors[i])
  local waiting, ahead = untaken(DUE, JOBS, CRASHES, name, at, kind, lined)
  local next_revision = math.max(draw, tonumber(h.revision) + 1)
  draw = next_revision + 1
  plan.status, plan.state = 2, h.state == 'completed' and 'live' or h.state
  if ahead then
    plan.withdrawn = waiting
    if lined then lined.leave(waiting) end
    used = math.max(used - 1, 0)
  end
  plan.owed = now_ms
  if not same_rule then
    local from = declared.changed_at
    if waiting and not ahead and at > from then from = at end -- it became due after the caller had counted
    if ahead and before(at) < from then from = before(at) end
    plan.cursor = ahead and is_first(at, h.created) and '' or from .. ' ' .. whole(used) .. ' s'
    plan.missed = tonumber(declared.missed)
  elseif ahead then
    plan.cursor = withdrawn(at, used, h.created)
  elseif waiting then
    plan.owed = nil -- its take will owe the next one
  else
    plan.owed = math.min(owed_since(since[i]) or now_ms, now_ms) -- instants missed before are still missed; postponed: later than now
  end
  plan.text = definition({ revision = whole(next_revision), generation = declared.generation, state = plan.state, created = h.created,
    overlap = declared.overlap, rest = declared.rest })
end

-- plans: what each declaration does. Everything is read before anything is written.
local plans, done = {}, {}
for i, name in ipairs(names) do
  local at = FIELDS * (i - 1)
  local declared = { name = name, generation = ARGV[at + 2], overlap = ARGV[at + 4], rest = string.sub(ARGV[at + 5], 2),
    seen_revision = ARGV[at + 6], seen_cursor = ARGV[at + 7], changed_at = ARGV[at + 8], missed = ARGV[at + 9],
    expected = ARGV[at + 10], absent = ARGV[at + 11] == '1', note = ARGV[at + 12], owner = ARGV[at + 13], version = ARGV[at + 14] }
  local keep, pause_after, succeeded = ARGV[at + 15], ARGV[at + 16], ARGV[at + 17] == '1'
  local generation, h = tonumber(declared.generation), head(stored[i])
  local plan = { name = name, status = 0, old = stored[i] or '', text = stored[i] or '', cursor = cursors[i] or '',
    generation = declared.generation, note = declared.note }
  local known_version = declared.owner ~= '' and version_of(owners[i], declared.owner)
  local outdated = known_version and is_lower(declared.version, known_version)
  if succeeded and not known_version then outdated = stored[i] or owners[i] end
  if done[name] then return redis.error_reply('CHIMETWICE schedule ' .. name .. ' is declared twice in one call') end
  if h and is_mark(h.state) and tonumber(h.generation) < generation then h = nil end -- it belongs to an earlier schedule of that name
  local moves = h and is_mark(h.state)
  if not moves and not (h and declared.overlap == h.overlap and declared.rest == h.rest) and answered(KEYS[14], ARGV[at + 19]) then
    plan.status = 12
  elseif h and tonumber(h.generation) > generation then
    plan.status, plan.generation = is_mark(h.state) and 3 or 5, h.generation
  elseif h and is_mark(h.state) then
    plan.status = 3
  elseif not h and tonumber(gone[i] or 0) >= generation then
    plan.status, plan.generation = 4, whole(tonumber(gone[i]))
  elseif outdated then
    plan.status, plan.pruned = 9, not stored[i]
  elseif h and has_newer_form(h, ARGV[at + 18]) then
    plan.status = 11
  elseif not h and declared.expected ~= '' then
    plan.status = 10
  elseif not h then
    create(plan, declared, stored[i] and not head(stored[i]), math.max(tonumber(ARGV[at + 3]), math.floor(tonumber(gone[i] or 0) / 1000)))
  elseif (declared.overlap ~= h.overlap or declared.rest ~= h.rest) and
    (declared.absent or declared.expected ~= '' and declared.expected ~= h.revision) then
    plan.status = 8
  elseif declared.overlap ~= h.overlap or declared.rest ~= h.rest then
    change(plan, declared, h, i)
  elseif tonumber(h.generation) < generation then
    h.generation = declared.generation -- the server went back to an earlier state, and the registry did not
    plan.text = definition(h)
  end
  if plan.status <= 2 or plan.status == 11 and known_version then
    local record = declared.owner ~= '' and declared.owner .. ' ' .. declared.version
    if record and record ~= owners[i] then
      plan.owned = record
    elseif not record and plan.status == 1 and owners[i] then
      plan.disowned = true -- it belongs to an earlier schedule of that name
    end
  end
  if plan.status <= 2 then
    local last = new_last(head(plan.text).created, keep, pause_after, plan.status ~= 1 and lasts[i])
    if (plan.status > 0 or not lasts[i]) and last ~= lasts[i] then plan.last = last end
    if plan.last and (plan.status == 1 or keep == '0') then plan.history = fields_of(name, redis.call('HGET', HISTORY, name)) end
  end
  done[name] = true
  plans[i] = plan
end

local answer, drawn, large = { whole(now_us) }, false, false
for i, plan in ipairs(plans) do
  local name = plan.name
  if plan.text ~= plan.old then
    large = large or #plan.text > LARGE_BYTES
    redis.call('HSET', SCHEDULES, name, plan.text)
  end
  if plan.last then redis.call('HSET', LAST, name, plan.last) end
  if plan.history then remove_fields(HISTORY, plan.history) end
  if plan.owned then redis.call('HSET', OWNERS, name, plan.owned) end
  if plan.disowned then redis.call('HDEL', OWNERS, name) end
  if plan.status == 1 and plan.note ~= '' then
    redis.call('HSET', NOTES, name, noted(plan.note))
  elseif plan.status == 1 then
    redis.call('HDEL', NOTES, name)
  end
  if plan.status == 1 then set_end(KEYS[23], 'schedule\t' .. name, plan.note) end
  -- a late creation with this generation finds that it is gone
  if plan.pruned then redis.call('ZADD', GONE, whole(math.max(tonumber(gone[i] or 0), now_us, tonumber(plan.generation))), name) end
  if plan.status == 1 or plan.status == 2 then
    drawn = true
    remember_closed(KEYS[14], ARGV[FIELDS * i], 1)
    if plan.withdrawn then redis.call('ZREM', DUE, plan.withdrawn) end
    if plan.cursor ~= '' then
      redis.call('HSET', CURSORS, name, plan.cursor)
    elseif cursors[i] then
      redis.call('HDEL', CURSORS, name)
    end
    if plan.forgets and zones[i] then redis.call('HDEL', KEYS[16], name) end
    if plan.forgets and gone[i] then
      redis.call('ZREM', GONE, name)
      redis.call('HDEL', COUNTERS, counters_of(name))
    end
    if (plan.missed or 0) > 0 then
      redis.call('HINCRBY', COUNTERS, name .. MISSED, whole(plan.missed))
      redis.call('HINCRBY', COUNTERS, MISSED, whole(plan.missed))
    end
    if plan.state ~= 'live' then plan.owed = nil end
    if plan.owed then
      redis.call('ZADD', OWED, whole(plan.owed), name)
    else
      redis.call('ZREM', OWED, name)
    end
  end
  for _, value in ipairs({ plan.status, plan.old, plan.text, plan.cursor, whole(plan.owed or -1), plan.generation,
    not plan.forgets and zones[i] or '' }) do
    answer[#answer + 1] = value
  end
end
if drawn then redis.call('HSET', STATE, 'fence', whole(draw - 1)) end
if lined then lined.save(STATE) end
if large then redis.call('HSETNX', STATE, 'large', '1') end -- takes must read lengths first
if state[2] ~= LAYOUT then redis.call('HSET', STATE, 'layout', LAYOUT) end
-- delete_queue.lua lets these expire
redis.call('PERSIST', GONE)
redis.call('PERSIST', OWNERS)
if not state[2] then
  redis.call('PERSIST', KEYS[14])
  redis.call('PERSIST', KEYS[15])
end
return answer
