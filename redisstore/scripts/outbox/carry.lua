-- carry.lua: add to a partition what another one has for it, at most 500 entries and 1 MiB, each once. lib/outbox.lua has the invariants.
-- Model: CARRY in models/outbox.pml, CARRY in models/batch.pml.
-- KEYS[1]  …:ready   list  IDs of jobs to run now
-- KEYS[2]  …:due     zset  job ID -> instant it is due, Unix ms
-- KEYS[3]  …:jobs    hash  job ID -> envelope
-- KEYS[4]  …:callers  zset  see delete_queue.lua
-- KEYS[5]  …:state   hash  paused, layout, limit, stale, groups, grules, purge
-- KEYS[6]  …:idle    zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[7]  …:stale   zset  IDs in ready that are void -> since when, Unix ms; see lib/stale.lua
-- KEYS[8]  …:inbox   hash  source -> its mark, see lib/outbox.lua
-- KEYS[9]  …:line    zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now, see lib/line.lua
-- KEYS[10] …:places  hash  job ID -> "<place> <group>"
-- KEYS[11] …:turns   zset  "<tag>\t<group>" -> flights / weight, see lib/groups.lua
-- KEYS[12] …:groups  hash  group -> its flights, tag and starts
-- KEYS[13] …:grules  hash  group -> its rule and pause
-- KEYS[14] …:opens   zset  group -> instant of its next start, Unix ms
-- KEYS[15] …:batches  hash  batch -> its counts, see lib/members.lua
-- KEYS[16] …:reports  zset  batch -> instant from which its counts are to be reported, Unix ms
-- ARGV[1] the source, "<queue>/<index>"; ARGV[2] the mark that the call continues; ARGV[3] prefix of the wake-up channels
-- ARGV[4] 1 if a value is longer than 2 KiB: takes must then read lengths first; ARGV[5] 1: the queue has several partitions, so no job has a group
-- ARGV[6...] three values for each entry: number, ID, value, as advance_outbox.lua has returned them; none: the caller only requests the mark
-- Returns time (us); the mark after the call; 1 if the call was carried out, 0 if it does not continue the mark: then nothing is added; how many were added;
-- how many of these had a group that they have lost; 1: the caller must register the queue, see delete_queue.lua.
local READY, DUE, JOBS, CALLERS, STATE, IDLE, STALE, INBOX = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local LINE, PLACES, TURNS, GROUPS, GRULES, OPENS = KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13], KEYS[14]
local FORGET_US = 604800000000 -- the marks of sources that have carried nothing for so long are removed: a token takes the place of each
-- uses: limits clock layout strings outbox due queuelimit waiting starts line groups tuned
local state = redis.call('HMGET', STATE, 'paused', 'layout', 'limit', 'stale', 'groups', 'grules')
local refusal = newer(state[2])
if refusal then return refusal end
local source, after, n_args = ARGV[1], ARGV[2], #ARGV
local mark, old_marks = match(redis.call('HGET', INBOX, source) or '', '^[^\t]+'), {}
if not mark then
  local some = redis.call('HRANDFIELD', INBOX, 2, 'WITHVALUES')
  for i = 1, #some, 2 do
    -- the number of a mark is that of an entry, which may have waited for a long time
    local at = tonumber(match(some[i + 1], '\t(%d+)$') or match(some[i + 1], '^@?(%d+)') or 0)
    if now_us - at > FORGET_US then old_marks[#old_marks + 1] = some[i] end
  end
  -- A token is used once. A call that names an older one, or a mark of before, comes late.
  mark = '@' .. whole(now_us)
  redis.call('HSET', INBOX, source, mark .. '\t' .. whole(now_us))
  if #old_marks > 0 then redis.call('HDEL', INBOX, unpack(old_marks)) end
  return { whole(now_us), mark, 0, 0, 0, 0 }
end

-- which entries are added: those after the mark
local first, above = 6, sum_of(match(after, '^%d+')) or 0
if mark ~= after then
  first = nil
  for i = 6, n_args, 3 do
    if whole(tonumber(ARGV[i])) .. ' ' .. ARGV[i + 1] == mark then first, above = i + 3, tonumber(ARGV[i]) end
  end
end
for i = first or n_args, n_args, 3 do
  local number = sum_of(ARGV[i])
  if not number or number <= above then first = nil end -- no source sends that
  above = number or above
end
if not first or n_args < 6 then return { whole(now_us), mark, 0, 0, 0, 0 } end

local jobs, ids, entries = {}, {}, {} -- entries: groups of jobs, as entries in places
for i = first, n_args, 3 do
  local due_ms, group, note, batch, envelope = unpack_job(ARGV[i + 2])
  if not due_ms or note ~= '' then
    if #jobs == 0 then return redis.error_reply('CHIMELAYOUT a newer version has added what ' .. source .. ' has for this partition: upgrade this program') end
    break -- what comes before it is added
  end
  local job = { number = ARGV[i], id = ARGV[i + 1], due_ms = due_ms, group = group ~= '' and group or nil, batch = batch ~= '' and batch or nil, envelope = envelope }
  jobs[#jobs + 1], ids[#ids + 1] = job, job.id
end
local void, seen, new, ungrouped = {}, {}, {}, 0
local save_counts -- counts the members of batches; nil: none of the jobs is one
if state[4] and #ids > 0 then
  for i, since in ipairs(redis.call('ZMSCORE', STALE, unpack(ids))) do void[ids[i]] = since end
end
for _, job in ipairs(jobs) do
  if redis.call('HEXISTS', JOBS, job.id) == 0 and not seen[job.id] then
    seen[job.id], new[#new + 1] = true, job
    if job.group and ARGV[5] == '1' then job.group, ungrouped = nil, ungrouped + 1 end
    if job.group then entries[#entries + 1] = '0 ' .. job.group end
  end
end
for _, job in ipairs(new) do
  if job.batch and not save_counts then
    local function pieces()
      -- uses: members
      local counts = {}
      check_members(KEYS[15], KEYS[16])
      for _, each in ipairs(new) do
        if each.batch then count_member(counts, each.batch, 'added', 1) end
      end
      return function() save_members(counts, KEYS[15], KEYS[16], STATE) end
    end
    save_counts = pieces()
  end
end
local last = jobs[#jobs]
if last then mark = whole(tonumber(last.number)) .. ' ' .. last.id end
local all -- the groups; nil: no job has one
if #entries > 0 then all = open_tuned(state[5], state[6], entries, LINE, PLACES, TURNS, GROUPS, GRULES, OPENS) end
redis.call('LLEN', READY)
redis.call('ZCARD', DUE)
redis.call('ZCARD', CALLERS)
redis.call('ZCARD', IDLE)
redis.call('ZCARD', STALE)

local front, revived, due, envelopes, placed, lined, dated = {}, {}, {}, {}, {}, {}, false
for i = #new, 1, -1 do -- the first one comes before all others
  local job = new[i]
  envelopes[#envelopes + 1], envelopes[#envelopes + 2] = job.id, job.envelope
  local now = job.due_ms <= now_ms
  if job.group then
    local entry = (now and string.format('%016d', place_in_front(all)) or NO_PLACE) .. ' ' .. job.group
    placed[#placed + 1], placed[#placed + 2] = job.id, entry
    if now then lined[#lined + 1], lined[#lined + 2] = '0', line_member(job.id, entry) end
  elseif now and void[job.id] then
    revived[#revived + 1] = job.id -- it keeps its old place
  elseif now then
    front[#front + 1] = job.id
  end
  if not now then due[#due + 1], due[#due + 2], dated = whole(job.due_ms), job.id, true end
end

redis.call('HSET', INBOX, source, mark .. '\t' .. whole(now_us)) -- the first write: without memory nothing is written
redis.call('PERSIST', INBOX) -- delete_queue.lua lets it expire; another script may have written the layout since
if #envelopes > 0 then redis.call('HSET', JOBS, unpack(envelopes)) end
if #front > 0 then redis.call('LPUSH', READY, unpack(front)) end
if #revived > 0 then redis.call('ZREM', STALE, unpack(revived)) end
if #due > 0 then redis.call('ZADD', DUE, unpack(due)) end
if #placed > 0 then redis.call('HSET', PLACES, unpack(placed)) end
if #lined > 0 then redis.call('ZADD', LINE, unpack(lined)) end
if all then tune_groups(all, STATE, LINE, PLACES, TURNS, GROUPS, OPENS) end
if save_counts then save_counts() end
if state[2] ~= LAYOUT then redis.call('HSET', STATE, 'layout', LAYOUT) end
if not state[2] then -- delete_queue.lua lets these expire
  redis.call('PERSIST', CALLERS)
  redis.call('PERSIST', IDLE)
end
if ARGV[4] == '1' then redis.call('HSETNX', STATE, 'large', '1') end
if #new > 0 and not state[1] then
  -- uses: gate wake alarm
  local startable, next_ms = next_take(READY, DUE, TURNS, OPENS, state[5] or all and '', read_limit(state[3]), next_start)
  if startable then
    wake_one(IDLE, ARGV[3])
  elseif dated and next_ms >= 0 then
    keep_alarm(IDLE, ARGV[3], next_ms)
  end
end
-- a call that finds entries carried may be one whose answer was lost
return { whole(now_us), mark, 1, #new, ungrouped, (not state[2] or #new < #jobs or first > 6) and 1 or 0 }
