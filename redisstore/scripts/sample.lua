-- sample.lua: take a sample of a partition: what has changed since the last one, and how it stands. Once a minute, by whoever comes first.
--
-- A sample is an entry of …:minutes. Its ID is the minute that has ended last; where samples were missed before it, it covers the minutes
-- since the last one that was looked at. Where nothing has changed nothing is added, only the minute noted: so a gap before an entry that
-- covers one minute, and the time from the last entry to the minute noted, are as the entry before left it.
--
-- What holds, whatever samples are missed, repeated, or taken by many at once, in whatever order they come:
--   - the changes of all entries together are the change of each total since the first sample, as long as the totals grow. One that fell,
--     for somebody wrote it, is counted from where it is;
--   - what …:measured had is in the entries, once, or still there;
--   - the changes of the entries of …:hours, with the sums of the hour under way, are those of all entries of …:minutes;
--   - of what is too old the newest entry of each stream stays, so that it is known how the partition stood before the next.
-- While the clock is behind the minute that was looked at last nothing is added; where that lies a day and an hour ahead the samples are
-- dropped, for they are of a clock that was wrong, and everything begins anew.
-- KEYS[1]  …:sampled   hash    minute: the one looked at last; since: the first; =<field>: the totals; #<field>: the depths, as they were then;
--          hour: the one under way; from: the first minute of its entries; +<field>: the sums of its changes
-- KEYS[2]  …:minutes   stream  minute, Unix ms -> an entry, as below
-- KEYS[3]  …:hours     stream  hour, Unix ms -> likewise
-- KEYS[4]  …:measured  hash    see measure.lua
-- KEYS[5]  …:state     hash    done, enqueued
-- KEYS[6]  …:callers   zset    #enqueued
-- KEYS[7]  …:counters  hash    those of the partition
-- KEYS[8]  …:ready     list    IDs of jobs to run now
-- KEYS[9]  …:stale     zset    those in it that are void
-- KEYS[10] …:due       zset    job ID -> instant it is due, Unix ms
-- KEYS[11] …:dead      zset    jobs given up
-- KEYS[12] …:jobs      hash    job ID -> envelope
-- ARGV[1] so many minutes must have ended since the last sample, else nothing is done; ARGV[2] jobs that run; ARGV[3] jobs that are parked
-- An entry has, but for what is zero: c, how many minutes or hours it covers if not one; the changes of jobs enqueued e, done d, attempts
-- failed f, retried r, died x, cancelled k, occurrences skipped s, missed m; how many are waiting w, delayed l, running b, parked p, dead g;
-- how long the first has waited o, ms, if its envelope is no longer than LONG; lateness L, wait W, run R, n<job name>: see lib/sums.lua
-- Returns time (us), 1 if a sample was taken, else 0.
local SAMPLED, MINUTES, HOURS, MEASURED = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
-- uses: clock counters due sums strings envelope
local LONG = 65536 -- bytes
local MINUTE, HOUR = 60000, 3600000
local KEPT_MINUTES, KEPT_HOURS = 25 * HOUR, 92 * 24 * HOUR
local minute = now_ms - now_ms % MINUTE - MINUTE

-- count returns what a text says of a number of jobs or an instant; 0: nothing.
local function count(text)
  local n = tonumber(text or 0) or 0
  return n >= 0 and n < 1e15 and math.floor(n) or 0
end

local was, stored = {}, redis.call('HGETALL', SAMPLED)
for i = 1, #stored, 2 do was[stored[i]] = stored[i + 1] end
local last = was.minute and count(was.minute)
local wrong = last and last > minute + KEPT_MINUTES
if last and not wrong and minute - last < math.max(tonumber(ARGV[1]), 1) * MINUTE then return { now_us, 0 } end
if wrong then was, last = {}, nil end

----------------------------------------------------------------------------------------------------------------- read

local TOTALS, DEPTHS = { 'e', 'd', 'f', 'r', 'x', 'k', 's', 'm' }, { 'w', 'l', 'b', 'p', 'g' }
local state = redis.call('HMGET', KEYS[5], 'enqueued', 'done')
local totals = redis.call('HMGET', KEYS[7], FAILED, RETRIED, DIED, CANCELLED, SKIPPED, MISSED)
for i = #TOTALS, 3, -1 do totals[i] = count(totals[i - 2]) end
totals[1], totals[2] = count(state[1]) + count(redis.call('ZSCORE', KEYS[6], '#enqueued')), count(state[2])
local waiting, head_ms = redis.call('LLEN', KEYS[8]), due_head(KEYS[10])
if waiting > 0 then waiting = waiting - redis.call('ZCARD', KEYS[9]) end
local depths = { math.max(waiting, 0), redis.call('ZCARD', KEYS[10]), count(ARGV[2]), count(ARGV[3]), redis.call('ZCARD', KEYS[11]) }
local oldest, first = 0, depths[1] > 0 and redis.call('LRANGE', KEYS[8], 0, 0)[1]
if first and redis.call('HSTRLEN', KEYS[12], first) <= LONG then
  oldest = math.max(now_ms - (planned_in(redis.call('HGET', KEYS[12], first)) or now_ms), 0)
end
if head_ms >= 0 and head_ms < now_ms then oldest = math.max(oldest, now_ms - head_ms) end

local measured = { 'L', 'W', 'R', 'n' .. OTHER_NAMES, 'names' }
local sums = redis.call('HMGET', MEASURED, unpack(measured))
local names = table.remove(sums)
table.remove(measured)
if names then
  for name in string.gmatch(names, '[^\t]+') do measured[#measured + 1] = 'n' .. name end
  sums = redis.call('HMGET', MEASURED, unpack(measured))
end

local hour_ended = was.hour and count(was.hour) ~= minute - minute % HOUR and count(was.hour)

--------------------------------------------------------------------------------------------------------------- decide

local NOTHING = { 'w', '0' } -- of an entry that has nothing to tell but that
local entry, noted = {}, { 'minute', whole(minute) } -- fields and values of the entry, and those to set in …:sampled
local moved, changed = {}, false -- fields of …:measured that are in the entry; whether there is anything to tell
for i, field in ipairs(TOTALS) do
  local before = count(was['=' .. field])
  if totals[i] ~= before or not last then
    noted[#noted + 1], noted[#noted + 2] = '=' .. field, whole(totals[i])
    if last and totals[i] > before then entry[#entry + 1], entry[#entry + 2] = field, whole(totals[i] - before) end
  end
end
for i, field in ipairs(last and measured or {}) do
  if sums[i] then
    entry[#entry + 1], entry[#entry + 2] = field, sums[i]
    moved[#moved + 1] = field
  end
end
local n_changes = #entry
for i, field in ipairs(DEPTHS) do
  if depths[i] ~= count(was['#' .. field]) then
    noted[#noted + 1], noted[#noted + 2] = '#' .. field, whole(depths[i])
    changed = true
  end
  if depths[i] > 0 then entry[#entry + 1], entry[#entry + 2] = field, whole(depths[i]) end
end
if oldest > 0 then entry[#entry + 1], entry[#entry + 2] = 'o', whole(oldest) end
changed = changed or n_changes > 0
local covers = last and (minute - last) / MINUTE or 1
if covers > 1 then entry[#entry + 1], entry[#entry + 2] = 'c', whole(covers) end
if not last then noted[#noted + 1], noted[#noted + 2] = 'since', whole(minute) end

-- ended: the entry of the hour that has ended; spent: the fields of its sums
local ended, spent = {}, {}
if hour_ended then
  for field, text in pairs(was) do
    local kind, name = string.match(field, '^([+#])(.+)$')
    if kind == '+' then spent[#spent + 1] = field end
    if kind and text ~= '0' then ended[#ended + 1], ended[#ended + 2] = name, text end
  end
  local from = count(was.from)
  local hours = (hour_ended - (from - from % HOUR)) / HOUR + 1
  if hours > 1 then ended[#ended + 1], ended[#ended + 2] = 'c', whole(hours) end
  if was.oldest then ended[#ended + 1], ended[#ended + 2] = 'o', was.oldest end
  for _, field in ipairs({ 'hour', 'from', 'oldest' }) do
    if was[field] then spent[#spent + 1] = field end
    was[field] = nil
  end
  for _, field in ipairs(spent) do was[field] = nil end
end
if changed then
  local n_names = 0
  for field in pairs(was) do
    if string.sub(field, 1, 2) == '+n' then n_names = n_names + 1 end
  end
  local others = nil -- of names for which there is no room in the hour
  for i = 1, n_changes, 2 do
    local field, value = '+' .. entry[i], entry[i + 1]
    if string.find(value, ':', 1, true) then
      if string.sub(field, 1, 2) == '+n' and field ~= '+n' .. OTHER_NAMES and not was[field] then
        if n_names < MAX_NAMES then n_names = n_names + 1 else field = '+n' .. OTHER_NAMES end
      end
      value = add_sums(was[field], value)
    else
      value = whole(count(was[field]) + count(value))
    end
    was[field] = value
    if field == '+n' .. OTHER_NAMES then
      others = value
    else
      noted[#noted + 1], noted[#noted + 2] = field, value
    end
  end
  if others then noted[#noted + 1], noted[#noted + 2] = '+n' .. OTHER_NAMES, others end
  if not was.hour then
    noted[#noted + 1], noted[#noted + 2] = 'hour', whole(minute - minute % HOUR)
    noted[#noted + 1], noted[#noted + 2] = 'from', whole(minute - (covers - 1) * MINUTE)
  end
  if oldest > 0 then
    noted[#noted + 1], noted[#noted + 2] = 'oldest', whole(oldest)
  elseif was.oldest then
    spent[#spent + 1] = 'oldest'
  end
end

-------------------------------------------------------------------------------------- read: what there is in the streams

-- is_later says whether an instant, Unix ms, is after all entries of a stream.
local function is_later(key, ms)
  local newest = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
  return not newest or tonumber(string.match(newest[1], '^%d+')) < ms
end
-- newest_before returns the ID of the newest entry before an instant, and whether there is one before that.
local function newest_before(key, ms)
  local two = redis.call('XREVRANGE', key, whole(ms - 1), '-', 'COUNT', 2)
  return two[1] and two[1][1], two[2] ~= nil
end
local old_minute, older_minutes, old_hour, older_hours, adds_hour
if not wrong and (changed or not last or last - last % HOUR ~= minute - minute % HOUR) then -- of an idle partition once an hour
  if not is_later(MINUTES, minute) then return { now_us, 0 } end -- what was noted is lost, a moment ago
  old_minute, older_minutes = newest_before(MINUTES, minute - KEPT_MINUTES)
  old_hour, older_hours = newest_before(HOURS, minute - KEPT_HOURS)
  adds_hour = hour_ended and is_later(HOURS, hour_ended)
end

---------------------------------------------------------------------------------------------------------------- write

if wrong then
  redis.call('DEL', SAMPLED)
  -- unread: none of a wrong clock's samples is kept
  redis.call('DEL', MINUTES)
  -- unread: as above
  redis.call('DEL', HOURS)
else
  -- unread: it was read where this is so, and below
  if older_minutes then redis.call('XTRIM', MINUTES, 'MINID', old_minute) end
  -- unread: as above
  if older_hours then redis.call('XTRIM', HOURS, 'MINID', old_hour) end
end
-- unread: as above
if adds_hour then redis.call('XADD', HOURS, whole(hour_ended) .. '-0', unpack(#ended > 0 and ended or NOTHING)) end
if #spent > 0 then redis.call('HDEL', SAMPLED, unpack(spent)) end
-- unread: as above
if changed then redis.call('XADD', MINUTES, whole(minute) .. '-0', unpack(#entry > 0 and entry or NOTHING)) end
redis.call('HSET', SAMPLED, unpack(noted))
if hour_ended and names then moved[#moved + 1] = 'names' end
if #moved > 0 then redis.call('HDEL', MEASURED, unpack(moved)) end
return { now_us, 1 }
