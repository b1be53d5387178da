-- advance_outbox.lua: note what a target partition has taken, and return what it gets next. See lib/outbox.lua for the states. It changes at most 500 entries.
-- Model: ADVANCE in models/outbox.pml, CONFIRM in models/batch.pml.
-- KEYS[1] …:state      hash  layout, outbox, paused, limit, groups, blocked, batches
-- KEYS[2] …:outbox     zset  entries that wait
-- KEYS[3] …:outgoing   hash  "<queue>\t<job ID>" -> value of an entry
-- KEYS[4] …:delivered  zset  entries that were carried, until this is confirmed
-- KEYS[5] …:carried    hash  target -> what it has taken; "!<target>" -> why it is blocked, see block_outbox.lua: this ends when an entry was carried
-- KEYS[6...] …:ready   list  IDs of jobs to run now. These seven are there if jobs are taken from the source: if its outbox was full, a worker is woken
-- KEYS[7...] …:due     zset  job ID -> instant it is due, Unix ms
-- KEYS[8...] …:turns   zset  groups that may start a job, see lib/groups.lua
-- KEYS[9...] …:opens   zset  group -> instant of its next start, Unix ms
-- KEYS[10...] …:idle   zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[11...] …:batches  hash  batch -> its counts, see lib/members.lua
-- KEYS[12...] …:reports  zset  batch -> instant from which its counts are to be reported, Unix ms
-- ARGV[1] the target, "<queue>/<index>"; ARGV[2] its mark, as it has answered; empty: the caller does not know it, and nothing is noted
-- ARGV[3] how many entries are wanted; ARGV[4] prefix of the wake-up channels
-- ARGV[5] when the caller requested the mark: the time that its last call returned before that, us; empty: not known, so the mark confirms nothing
-- Returns time (us); 1: call again with the same mark; the mark that the next call to the target names, empty: none is known; 1: more entries wait than are
-- returned; 1: entries are left that were carried and are not confirmed; 1: entries are lost, because the target went back; two values for each
-- entry: its member without the line and the tab behind it, its value.
local STATE, OUTBOX, OUTGOING, DELIVERED, CARRIED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local CONFIRMED_US = 60000000 -- so much later a second answer of the target confirms the first one
local MAX_KEPT, MAX_KEPT_BYTES = 20000, 67108864 -- of delivered: then the oldest of the line leave early
local FORGET_MS = 604800000 -- what is known of a target without entries is forgotten
-- uses: limits clock layout strings outbox
local state = redis.call('HMGET', STATE, 'layout', 'outbox', 'paused', 'limit', 'groups', 'blocked', 'batches')
local refusal = newer(state[1])
if refusal then return refusal end
local target, mark, want, asked = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[5])
local n_waiting, n_kept = redis.call('ZCARD', OUTBOX), redis.call('ZCARD', DELIVERED)
redis.call('HLEN', OUTGOING)
-- a deleted queue: a late call writes nothing
if not state[2] and n_waiting + n_kept == 0 then return { whole(now_us), 0, mark, 0, 0, 0 } end

local stored, blocked = unpack(redis.call('HMGET', CARRIED, target, '!' .. target))
local high, gone, confirms, noted_ms, known = match(stored or '', '^(%d+) (%d+) (%d+) (%d+)\t(.*)$')
high, gone, confirms, noted_ms, known = sum_of(high) or 0, sum_of(gone) or 0, sum_of(confirms) or 0, sum_of(noted_ms) or 0, known or ''
noted_ms = math.min(noted_ms, now_ms) -- the clock stepped back
local box = read_outbox(state[2])
local was_full = is_full(box, 0.9)
box.waiting = n_waiting
local LINE_BEGINS, LINE_ENDS = '[' .. target .. '\t', '(' .. target .. '\n'

-- up_to, behind return entries of the line in a sorted set with numbers up to n, or above n, at most max of them.
local function up_to(key, n, max)
  return redis.call('ZRANGEBYLEX', key, LINE_BEGINS, string.format('(%s\t%016d\n', target, n), 'LIMIT', '0', whole(max))
end
local function behind(key, n, max)
  return redis.call('ZRANGEBYLEX', key, string.format('[%s\t%016d\n', target, n), LINE_ENDS, 'LIMIT', '0', whole(max))
end

-- has reports whether the entry of a mark is in a sorted set.
local function has(key, n, id)
  for _, member in ipairs(redis.call('ZRANGEBYLEX', key, string.format('[%s\t%016d\t', target, n), string.format('(%s\t%016d\n', target, n), 'LIMIT', '0', '10')) do
    local _, _, _, _, its = entry_of(member)
    if its == id then return true end
  end
  return false
end

-- the mark: what moves. taken: waiting entries that the target has; missing: delivered ones that it does not have; redrawn: waiting ones whose
-- numbers the target would pass over
local number, id = match(mark, '^(%d+) (.+)$')
number = sum_of(number)
if not number then number, id = 0, nil end
local taken, missing, redrawn, lost, again = {}, {}, {}, false, false
local forgotten = false -- the target has removed its mark after a long time: it has had the delivered entries
local judges = mark ~= ''
if judges then
  local knows = mark == known or id and (has(OUTBOX, number, id) or has(DELIVERED, number, id))
  forgotten = not id and stored and now_ms - noted_ms > FORGET_MS
  missing = forgotten and {} or behind(DELIVERED, number, MAX_ITEMS + 1)
  local waits = up_to(OUTBOX, number, MAX_ITEMS + 1)
  if knows then taken = waits else redrawn = waits end
  if not knows and number > high then box.sent = math.max(box.sent, number) end -- the source went back
  lost = not knows and number <= high and number < gone and not forgotten and asked and asked >= noted_ms * 1000 or false -- an older answer is late
  local left = MAX_ITEMS
  for _, list in ipairs({ taken, missing, redrawn }) do
    for i = #list, left + 1, -1 do list[i], again = nil, true end
    left = left - #list
  end
end
local moves = #taken + #missing + #redrawn > 0
local notes = judges and not again -- whether the mark is noted by this call
if #missing > 0 then confirms = math.min(confirms, number) end -- only up to there the target has kept what it had

-- what leaves: the confirmed entries, and the oldest ones if there are too many
local leaves, drops = {}, false
if judges and not again then
  if forgotten then confirms = high end
  local confirmed = forgotten and n_kept > 0 or confirms > 0 and asked and asked >= noted_ms * 1000 + CONFIRMED_US and number >= confirms
  local excess = n_kept + #taken - #missing > MAX_KEPT or box.kept > MAX_KEPT_BYTES
  if moves then
    again = confirmed or excess -- the next call removes them
  elseif confirmed or excess then
    drops = confirmed
    leaves = up_to(DELIVERED, confirmed and confirms or number - 1, MAX_ITEMS + 1)
    if #leaves > MAX_ITEMS then leaves[#leaves], again, drops = nil, true, false end
    local left_n, left_bytes = n_kept, box.kept
    for i = 1, confirmed and 0 or #leaves do
      if left_n <= MAX_KEPT and left_bytes <= MAX_KEPT_BYTES then
        for k = #leaves, i, -1 do leaves[k] = nil end
        again = false
        break
      end
      local _, _, _, bytes = entry_of(leaves[i])
      left_n, left_bytes = left_n - 1, left_bytes - (bytes or 0)
    end
  end
end

if notes then high, known = math.max(high, number), mark end
local old_targets = {} -- others of which nothing is left
if notes and not stored then
  local some = redis.call('HRANDFIELD', CARRIED, 2, 'WITHVALUES')
  for i = 1, #some, 2 do
    local first, last = '[' .. some[i] .. '\t', '(' .. some[i] .. '\n'
    local since = tonumber(match(some[i + 1], '^%d+ %d+ %d+ (%d+)\t') or match(some[i + 1], '^(%d+) ') or 0) -- the second one: of a note
    local used = redis.call('ZRANGEBYLEX', OUTBOX, first, last, 'LIMIT', '0', '1')[1] or redis.call('ZRANGEBYLEX', DELIVERED, first, last, 'LIMIT', '0', '1')[1]
    if not used and now_ms - since > FORGET_MS then old_targets[#old_targets + 1] = some[i] end
  end
end
if KEYS[10] then redis.call('ZCARD', KEYS[10]) end
local save_counts -- counts the members of batches that begin or cease to wait; nil: the partition has no batches
if state[7] then
  local function pieces()
    -- uses: members
    local counts = {}
    check_members(KEYS[11], KEYS[12])
    for sign, entries in pairs({ [-1] = taken, [1] = missing }) do
      local fields = {}
      for i, member in ipairs(entries) do
        local _, _, _, _, its = entry_of(member)
        fields[i] = queue_of(target) .. '\t' .. (its or '') .. '\tb'
      end
      for _, batch in ipairs(#fields > 0 and redis.call('HMGET', OUTGOING, unpack(fields)) or {}) do
        if batch then
          count_member(counts, batch, 'away', sign)
          note_target(counts, batch, target)
        end
      end
    end
    return function() save_members(counts, KEYS[11], KEYS[12], STATE) end
  end
  save_counts = pieces()
end

--------------------------------------------------------------------------------------------------------------------- write

-- move moves entries from one sorted set to the other; sign: 1 they wait now, -1 they do not wait any more.
local function move(entries, from, to, sign)
  if #entries == 0 then return end
  local into = {}
  for i, member in ipairs(entries) do
    local _, _, _, bytes = entry_of(member)
    into[2 * i - 1], into[2 * i] = '0', member
    box.waiting, box.bytes, box.kept = box.waiting + sign, box.bytes + sign * (bytes or 0), box.kept - sign * (bytes or 0)
  end
  redis.call('ZREM', from, unpack(entries))
  redis.call('ZADD', to, unpack(into))
  n_kept = n_kept - sign * #entries
end

redis.call('ZREM', OUTBOX, '') -- the first write needs no memory
move(taken, OUTBOX, DELIVERED, -1)
if blocked and #taken > 0 then
  redis.call('HDEL', CARRIED, '!' .. target)
  if match(state[6] or '', '^[^\t]*') == target then redis.call('HDEL', STATE, 'blocked') end
end
move(missing, DELIVERED, OUTBOX, 1)
if #redrawn > 0 then
  local into = {}
  for i, member in ipairs(redrawn) do into[2 * i - 1], into[2 * i] = '0', target .. '\t' .. draw_number(box, number) .. sub(member, #target + 18) end
  redis.call('ZREM', OUTBOX, unpack(redrawn))
  redis.call('ZADD', OUTBOX, unpack(into))
end
if #leaves > 0 then
  local values = {}
  for i, member in ipairs(leaves) do
    local _, of, _, bytes, its = entry_of(member)
    values[2 * i - 1] = queue_of(target) .. '\t' .. (its or '')
    values[2 * i] = values[2 * i - 1] .. '\tb'
    box.kept, gone = box.kept - (bytes or 0), math.max(gone, tonumber(of or 0))
  end
  redis.call('ZREM', DELIVERED, unpack(leaves))
  redis.call('HDEL', OUTGOING, unpack(values))
  n_kept = n_kept - #leaves
end
local left = redis.call('ZRANGEBYLEX', DELIVERED, LINE_BEGINS, LINE_ENDS, 'LIMIT', '0', '1')[1]
if notes then
  if not left then
    confirms, noted_ms = 0, now_ms
  elseif drops or confirms == 0 then
    confirms, noted_ms = number, now_ms
  end
end
if judges then
  local text = string.format('%d %d %d %d\t%s', high, gone, confirms, noted_ms, known)
  if text ~= stored then redis.call('HSET', CARRIED, target, text) end
  if #old_targets > 0 then redis.call('HDEL', CARRIED, unpack(old_targets)) end
end

-- the entries that are returned; those without a value are removed: nothing is left of them
local entries, more = {}, 0
if want > 0 and not again then
  local members, values, broken, bytes = redis.call('ZRANGEBYLEX', OUTBOX, LINE_BEGINS, LINE_ENDS, 'LIMIT', '0', whole(want + 1)), {}, {}, 0
  local fields = {}
  for i, member in ipairs(members) do
    local _, _, _, size, its = entry_of(member)
    bytes = bytes + (size or 0)
    if i > want or i > 1 and bytes > CALL_BYTES then
      more = 1
      break
    end
    fields[i] = queue_of(target) .. '\t' .. (its or '')
  end
  if #fields > 0 then values = redis.call('HMGET', OUTGOING, unpack(fields)) end
  for i, value in ipairs(values) do
    local n = #entries
    if value then
      entries[n + 1], entries[n + 2] = sub(members[i], #target + 2), value
    else
      local _, _, _, size = entry_of(members[i])
      broken[#broken + 1], box.waiting, box.bytes, lost = members[i], box.waiting - 1, box.bytes - (size or 0), true
    end
  end
  if #broken > 0 then
    redis.call('ZREM', OUTBOX, unpack(broken))
    if #entries == 0 and more == 1 then again = true end
  end
end

-- the sums; since: the oldest of the first entries of the lines
if box.waiting <= 0 then box.waiting, box.bytes, box.since = 0, 0, 0 end
if n_kept <= 0 then box.kept = 0 end
if box.waiting > 0 then
  local at, oldest = '-', nil
  for _ = 1, 100 do
    local member = redis.call('ZRANGEBYLEX', OUTBOX, at, '+', 'LIMIT', '0', '1')[1]
    if not member then break end
    local _, _, ended = entry_of(member)
    if ended and (not oldest or ended < oldest) then oldest = ended end
    at = '[' .. match(member, '^[^\t]*') .. '\n'
  end
  box.since = oldest or now_ms
end
if save_counts then save_counts() end
local text = outbox_text(box)
if text ~= state[2] then redis.call('HSET', STATE, 'outbox', text) end
if KEYS[10] and was_full and not is_full(box, 0.9) and not state[3] then
  -- uses: queuelimit due waiting gate wake alarm
  local startable, next_ms = next_take(KEYS[6], KEYS[7], KEYS[8], KEYS[9], state[5], read_limit(state[4]), next_start)
  if startable then
    wake_one(KEYS[10], ARGV[4])
  elseif next_ms >= 0 then
    keep_alarm(KEYS[10], ARGV[4], next_ms)
  end
end
return { whole(now_us), again and 1 or 0, known, more, left and 1 or 0, lost and 1 or 0, unpack(entries) }
