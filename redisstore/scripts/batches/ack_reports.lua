-- ack_reports.lua: note in a partition that the homes of batches have its counts.
-- KEYS[1] …:state    hash  layout, batches
-- KEYS[2] …:batches  hash  batch -> its counts, see lib/members.lua
-- KEYS[3] …:reports  zset  batch -> instant from which its counts are to be reported, Unix ms
-- ARGV two values for each: the batch, the version that its home has
-- Returns time (us).
local STATE, BATCHES, REPORTS = KEYS[1], KEYS[2], KEYS[3]
local AGAIN_MS = 60000 -- while members are left, so that a home that went back to an earlier state knows this partition again
-- uses: clock layout members
local refusal = newer(redis.call('HGET', STATE, 'layout'))
if refusal then return refusal end
local names, entries, gone, again = {}, {}, {}, {}
for i = 1, #ARGV, 2 do names[#names + 1] = ARGV[i] end
redis.call('ZCARD', REPORTS)
for i, text in ipairs(redis.call('HMGET', BATCHES, unpack(names))) do
  local c = counts_of(text)
  if not c.absent and whole(c.version) == ARGV[2 * i] and members_left(c) > 0 then
    again[#again + 1], again[#again + 2] = whole(now_ms + AGAIN_MS), names[i]
  elseif c.absent or whole(c.version) == ARGV[2 * i] then
    gone[#gone + 1] = names[i]
  else
    c.told = now_ms
    again[#again + 1], again[#again + 2] = whole(report_at(c, false)), names[i]
  end
  if not c.absent then
    c.told = now_ms
    entries[#entries + 1], entries[#entries + 2] = names[i], counts_text(c)
  end
end
redis.call('ZREM', REPORTS, '', unpack(gone)) -- the first write needs no memory
if #entries > 0 then redis.call('HSET', BATCHES, unpack(entries)) end
if #again > 0 then redis.call('ZADD', REPORTS, unpack(again)) end
save_head(BATCHES, REPORTS, STATE)
return { whole(now_us) }
