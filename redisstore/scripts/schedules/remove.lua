-- remove.lua: delete a schedule, its placed occurrence, and the waiting one that never began. Runs in flight, or begun before, may
-- finish; nothing follows them.
-- Model: REMOVE_BODY in models/home.pml.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:cursors    hash  schedule -> cursor
-- KEYS[3] …:owed       zset  schedule -> instant since when its next occurrence is to be placed, see lib/owed.lua
-- KEYS[4] …:due        zset  job ID -> instant it is due, Unix ms
-- KEYS[5] …:open       hash  schedule -> see lib/open.lua
-- KEYS[6] …:jobs       hash  job ID -> envelope
-- KEYS[7] …:crashes    hash  job ID -> times its holder vanished
-- KEYS[8] …:counters   hash
-- KEYS[9] …:gone       zset  schedule that lived here -> when it left or was deleted, Unix us
-- KEYS[10] …:behind    zset  "<schedule>\t<planned instant>" -> 0: occurrences behind the one in open
-- KEYS[11] …:ready     list  IDs of jobs to run now
-- KEYS[12] …:origins   hash  schedule -> queues that it has left
-- KEYS[13] …:notes     hash  schedule -> note of its pause
-- KEYS[14] …:owners    hash  schedule -> its owner, see lib/owner.lua
-- KEYS[15] …:last      hash  schedule -> its last outcome, see lib/history.lua
-- KEYS[16] …:history   hash  schedule -> its last attempts
-- KEYS[17] …:zones     hash  schedule -> local time of its last occurrence, see lib/zones.lua
-- KEYS[18] …:state     hash  layout, groups, grules
-- KEYS[19] …:line  zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[20] …:places  hash  job ID -> "<place> <group>"
-- KEYS[21] …:turns  zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[22] …:groups  hash  group -> its flights, tag and starts
-- KEYS[23] …:grules  hash  group -> its rule and pause
-- KEYS[24] …:opens  zset  group -> instant of its next start, Unix ms
-- KEYS[25] …:ends  zset  ends of pauses, see lib/ends.lua
-- ARGV[1] schedule; ARGV[2] the generation to delete; ARGV[3] when it was deleted, as an earlier call has answered: the list of the queues that
-- it has left is removed, unless another schedule of that name was deleted here since; empty: the list remains
-- ARGV[4] the revision to delete (empty: any); ARGV[5], ARGV[6] an owner that prunes it, and its version (empty: none); ARGV[7]
-- 1: only if that owner has declared it here, in a lower version
-- The owner's record remains until the sweep removes it, with the version that has pruned it, so that no lower version creates it again.
-- Returns time (us); 1 if it is gone, 0 if its definition here has a later generation, -1 if it is not the one to delete; that definition; the queues
-- that it has left, whose marks must be removed too: a repeated call returns them again until their list is removed; when it was deleted here; the
-- owner that had declared it, or has pruned it (empty: none); when the deleted definition was created (empty: there was none).
local SCHEDULES, CURSORS, OWED, DUE, OPEN = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local JOBS, CRASHES, COUNTERS, GONE, BEHIND, READY, ORIGINS = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local NOTES, OWNERS = KEYS[13], KEYS[14]
local name, generation = ARGV[1], tonumber(ARGV[2])
-- uses: clock layout counters instant seconds strings definition open flight void withdraw owner histories
local state = redis.call('HMGET', KEYS[18], 'layout', 'groups', 'grules')
local refusal = newer(state[1])
if refusal then return refusal end
local text = redis.call('HGET', SCHEDULES, name)
local h = head(text)
if h and tonumber(h.generation) > generation then return { whole(now_us), 0, text, '', '' } end
local owner, version, declared_by = ARGV[5], ARGV[6], redis.call('HGET', OWNERS, name)
if h and ARGV[4] ~= '' and h.revision ~= ARGV[4] then return { whole(now_us), -1, text, '', '' } end
if ARGV[7] == '1' then
  local known = version_of(declared_by, owner)
  local again = not text and known == version -- a repeated call, or one that finishes what another has begun
  if not known or not is_lower(known, version) and not again then return { whole(now_us), -1, text or '', '', '' } end
end
local lined -- nil: no job has a group
if state[2] then
  local function pieces() -- a function has locals of its own: here they would be too many
    -- uses: limits queuelimit starts line groups lined
    return open_lined(state[2], state[3], KEYS[19], KEYS[20], KEYS[21], KEYS[22], KEYS[23], KEYS[24])
  end
  lined = pieces()
end
local at, _, kind = cursor(redis.call('HGET', CURSORS, name))
local waiting = untaken(DUE, JOBS, CRASHES, name, at, kind, lined)
-- one that was cancelled before its instant is removed too: another schedule of that name may have an occurrence at that instant
local void = at and is_mark_of_void(redis.call('HGET', JOBS, name .. '@' .. at) or '') and name .. '@' .. at
redis.call('ZSCORE', OWED, name)
redis.call('LLEN', READY)
redis.call('HLEN', COUNTERS)
redis.call('HLEN', NOTES)
redis.call('HLEN', KEYS[15])
redis.call('HLEN', KEYS[17])
redis.call('ZCARD', KEYS[25])
local history = fields_of(name, redis.call('HGET', KEYS[16], name))
local origins = redis.call('HGET', ORIGINS, name) or ''
local gone = tonumber(redis.call('ZSCORE', GONE, name) or 0)
local flights, front = read_flights(OPEN, BEHIND, SCHEDULES, CURSORS, { name }, {}), {}
local open_id, fence, worker, session, letter, fresh = opened(flights.opens[name])
if fence == '-' then
  set_open(flights, name, false)
elseif open_id and fresh ~= '' then
  set_open(flights, name, opening(open_id, fence, worker, session, letter, ''))
  if open_id == name .. '@' .. fresh then
    end_flight(flights, front, name, open_id, 'final') -- the schedule was held for the new one; in ready it remains until it is dropped
    if lined then lined.leave(open_id) end
  else
    flights.left[1] = name .. '\t' .. fresh
    if lined then lined.leave(name .. '@' .. fresh) end
    redis.call('HDEL', CRASHES, name .. '@' .. fresh)
  end
end
if lined and waiting then lined.leave(waiting) end

redis.call('HDEL', SCHEDULES, name)
if h and is_mark(h.state) or ARGV[3] == whole(gone) then redis.call('HDEL', ORIGINS, name) end
redis.call('HDEL', CURSORS, name)
redis.call('HDEL', KEYS[17], name)
redis.call('HDEL', NOTES, name)
redis.call('ZREM', KEYS[25], 'schedule\t' .. name)
redis.call('HDEL', KEYS[15], name)
remove_fields(KEYS[16], history)
if owner ~= '' then redis.call('HSET', OWNERS, name, owner .. ' ' .. version) end
redis.call('ZREM', OWED, name)
if waiting then redis.call('ZREM', DUE, waiting) end
if lined then lined.save(KEYS[18]) end
if void then
  redis.call('ZREM', DUE, void)
  redis.call('HDEL', JOBS, void)
end
save_flights(flights, OPEN, BEHIND)
push_front(READY, front)
redis.call('HDEL', COUNTERS, counters_of(name))
-- a repetition of an earlier step finds that this generation is gone
if text or gone < generation then
  gone = math.max(now_us, generation + 1) -- later than the generation: a bar is equal to it, see bar.lua
  redis.call('ZADD', GONE, whole(gone), name)
end
return { whole(now_us), 1, '', origins, whole(gone), declared_by or '', h and h.created or '' }
