-- sample.lua: take a sample of a partition: the changes since the last one, and the depths. The first caller of a minute takes it.
--
-- A sample is an entry of …:minutes. Its ID is the minute that has ended last; if samples were missed before it, it covers the minutes
-- since the last sampled one. If nothing has changed, no entry is added and only the minute is recorded: so in a gap before an entry that
-- covers one minute, and from the last entry to the recorded minute, the values of the entry before still hold.
--
-- These hold for missed, repeated and simultaneous samples in any order:
--   - the sum of the changes of all entries is the change of each total since the first sample, as long as the totals grow. A total that fell,
--     because it was edited, is counted from its new value;
--   - each measurement in …:measured is in the entries, once, or still there;
--   - the changes of the entries of …:hours, with those by the minute of the current hour, are those of all entries of …:minutes. The caller
--     adds up the hour that has ended: its sum counts only if no other sample has been taken since it read the entries;
--   - when old entries are removed, the newest entry of each stream remains, so that the depths before the next one are known. Removal takes
--     place once an hour.
-- While the clock is behind the minute that was sampled last, nothing is added. If that minute is a day and an hour ahead, the samples are
-- deleted, because they are of a wrong clock, and sampling starts again.
-- KEYS[1]  …:sampled   hash    minute: the last sampled one; since: the first; =<field>: the totals; #<field>: the depths, as they were then;
--          hour: the one of the newest entry, if it is not in …:hours yet
-- KEYS[2]  …:minutes   stream  minute, Unix ms -> an entry, as below
-- KEYS[3]  …:hours     stream  hour, Unix ms -> likewise
-- KEYS[4]  …:measured  hash    see measure.lua
-- KEYS[5]  …:state     hash    done, enqueued, layout
-- KEYS[6]  …:callers   zset    #enqueued
-- KEYS[7]  …:counters  hash    those of the partition
-- KEYS[8]  …:ready     list    IDs of jobs to run now
-- KEYS[9]  …:stale     zset    those in it that are void
-- KEYS[10] …:due       zset    job ID -> instant it is due, Unix ms
-- KEYS[11] …:dead      zset    dead jobs
-- KEYS[12] …:jobs      hash    job ID -> envelope
-- KEYS[13] …:line      zset    jobs of groups to run now, see lib/line.lua
-- KEYS[14] …:turns     zset    groups that may start a job, see lib/groups.lua
-- ARGV[1] this many minutes must have ended since the last sample, else nothing is done; ARGV[2] running jobs; ARGV[3] parked jobs;
-- ARGV[4] if the hour has ended, the last sampled minute when its entries were read; ARGV[5...] the entry of the hour
-- An entry has these fields, without zeros: c, how many minutes or hours it covers if not one; the changes of jobs enqueued e, done d, attempts
-- failed f, retried r, died x, cancelled k, occurrences skipped s, missed m, jobs expired z; how many are waiting w, delayed l, running b, parked p,
-- dead g; how long the first has waited o, ms, if its envelope is no longer than LONG, or the first of a group (lib/oldest.lua); M, the fields of …:measured except names:
-- "<field>\t<text>\t<field>…".
-- BenchmarkSample measures the server time of a call: about 75 µs, 115 with 100 job names; if an hour has ended 90 or 210, and 30 or
-- 60 for reading its entries before.
-- Returns time (us), 1 if a sample was taken, else 0.
local SAMPLED, MINUTES, HOURS, MEASURED = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
-- uses: clock layout counters due waiting strings envelope oldest
local refusal = newer(redis.call('HGET', KEYS[5], 'layout'))
if refusal then return refusal end
local LONG = 65536 -- bytes
local MINUTE, HOUR = 60000, 3600000
local KEPT_MINUTES, KEPT_HOURS = 25 * HOUR, 92 * 24 * HOUR
local minute = now_ms - now_ms % MINUTE - MINUTE

-- count returns the number of jobs or the instant in a text; 0: it is not a number.
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
local hour = minute - minute % HOUR
local is_new_hour = not last or last - last % HOUR ~= hour
local hour_ended = last and was.hour and count(was.hour) ~= hour and count(was.hour)
if hour_ended and ARGV[4] ~= was.minute then return { now_us, 0 } end

----------------------------------------------------------------------------------------------------------------- read

local TOTALS, DEPTHS = { 'e', 'd', 'f', 'r', 'x', 'k', 's', 'm', 'z' }, { 'w', 'l', 'b', 'p', 'g' }
local state = redis.call('HMGET', KEYS[5], 'enqueued', 'done', 'groups')
local totals = redis.call('HMGET', KEYS[7], FAILED, RETRIED, DIED, CANCELLED, SKIPPED, MISSED, EXPIRED)
for i = #TOTALS, 3, -1 do totals[i] = count(totals[i - 2]) end
totals[1], totals[2] = count(state[1]) + count(redis.call('ZSCORE', KEYS[6], '#enqueued')), count(state[2])
local head_ms = due_head(KEYS[10])
local depths = { count_waiting(KEYS[8], KEYS[9], KEYS[13]), redis.call('ZCARD', KEYS[10]), count(ARGV[2]), count(ARGV[3]), redis.call('ZCARD', KEYS[11]) }
local oldest, first = 0, depths[1] > 0 and redis.call('LRANGE', KEYS[8], 0, 0)[1]
if first and redis.call('HSTRLEN', KEYS[12], first) <= LONG then
  oldest = math.max(now_ms - (planned_in(redis.call('HGET', KEYS[12], first)) or now_ms), 0)
end
if head_ms >= 0 and head_ms < now_ms then oldest = math.max(oldest, now_ms - head_ms) end
if state[3] then oldest = math.max(oldest, now_ms - math.floor((oldest_in_line(KEYS[13], KEYS[14]) or now_us) / 1000)) end

local measured, names = last and redis.call('HGETALL', MEASURED) or {}, nil
for i = 1, #measured, 2 do
  if measured[i] == 'names' then
    names = measured[i + 1]
    local n = #measured
    measured[i], measured[i + 1] = measured[n - 1], measured[n]
    measured[n - 1], measured[n] = nil, nil
    break
  end
end

--------------------------------------------------------------------------------------------------------------- decide

local NOTHING = { 'w', '0' } -- of an entry without other changes
local entry, noted = {}, { 'minute', whole(minute) } -- fields and values of the entry, and those to set in …:sampled
for i, field in ipairs(TOTALS) do
  local before = count(was['=' .. field])
  if totals[i] ~= before or not last then
    noted[#noted + 1], noted[#noted + 2] = '=' .. field, whole(totals[i])
    if last and totals[i] > before then entry[#entry + 1], entry[#entry + 2] = field, whole(totals[i] - before) end
  end
end
if #measured > 0 then entry[#entry + 1], entry[#entry + 2] = 'M', table.concat(measured, '\t') end
local changed = #entry > 0 -- there is a change
for i, field in ipairs(DEPTHS) do
  if depths[i] ~= count(was['#' .. field]) then
    noted[#noted + 1], noted[#noted + 2] = '#' .. field, whole(depths[i])
    changed = true
  end
  if depths[i] > 0 then entry[#entry + 1], entry[#entry + 2] = field, whole(depths[i]) end
end
if oldest > 0 then entry[#entry + 1], entry[#entry + 2] = 'o', whole(oldest) end
local covers = last and (minute - last) / MINUTE or 1
if covers > 1 then entry[#entry + 1], entry[#entry + 2] = 'c', whole(covers) end
if not last then noted[#noted + 1], noted[#noted + 2] = 'since', whole(minute) end
if changed then noted[#noted + 1], noted[#noted + 2] = 'hour', whole(hour) end

-------------------------------------------------------------------------------------- read: what there is in the streams

-- is_later reports whether an instant, Unix ms, is after all entries of a stream.
local function is_later(key, ms)
  return #redis.call('XREVRANGE', key, '+', whole(ms), 'COUNT', 1) == 0
end
-- newest_before returns the ID of the newest entry before an instant, and whether there is another one before that.
local function newest_before(key, ms)
  local two = redis.call('XREVRANGE', key, whole(ms - 1), '-', 'COUNT', 2)
  return two[1] and two[1][1], two[2] ~= nil
end
local old_minute, older_minutes, old_hour, older_hours, adds_hour
if not wrong and (changed or is_new_hour) then
  if not is_later(MINUTES, minute) then return { now_us, 0 } end -- the record was lost a moment ago
  if is_new_hour then
    old_minute, older_minutes = newest_before(MINUTES, minute - KEPT_MINUTES)
    old_hour, older_hours = newest_before(HOURS, minute - KEPT_HOURS)
    adds_hour = hour_ended and ARGV[5] and is_later(HOURS, hour_ended)
  end
end

---------------------------------------------------------------------------------------------------------------- write

if wrong then
  redis.call('DEL', SAMPLED)
  -- unread: no sample of a wrong clock is kept
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
if adds_hour then redis.call('XADD', HOURS, whole(hour_ended) .. '-0', unpack(ARGV, 5)) end
if hour_ended and not changed then redis.call('HDEL', SAMPLED, 'hour') end
-- unread: as above
if changed then redis.call('XADD', MINUTES, whole(minute) .. '-0', unpack(#entry > 0 and entry or NOTHING)) end
redis.call('HSET', SAMPLED, unpack(noted))
if #measured > 0 or names and hour_ended then redis.call('DEL', MEASURED) end
if #measured > 0 and names and not hour_ended then redis.call('HSET', MEASURED, 'names', names) end
return { now_us, 1 }
