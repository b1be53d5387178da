-- ack_reports.lua: note in a partition that the homes of batches have its counts, or do not know the batch.
-- Model: ACK in models/batch.pml.
-- KEYS[1] …:state    hash  layout, batches
-- KEYS[2] …:batches  hash  batch -> its counts, see lib/members.lua
-- KEYS[3] …:reports  zset  batch -> instant from which its counts are to be reported, Unix ms
-- ARGV[1] how long the counts of a batch that its home does not know are kept, ms; then three values for each batch: its ID; the version that was reported;
-- 1: its home does not know it, else 0
-- Returns time (us); how many batches were forgotten because their homes do not know them.
local STATE, BATCHES, REPORTS = KEYS[1], KEYS[2], KEYS[3]
-- A home that goes back to an earlier state loses reports that it has confirmed. So a report is repeated until the partition forgets the batch.
local AGAIN_MS = 60000 -- while members are left, and once more after the last change
local DAY_MS = 86400000 -- from then on, counted from the last change: so counts that the home loses are removed a day after it
-- uses: clock layout members
local refusal = newer(redis.call('HGET', STATE, 'layout'))
if refusal then return refusal end
local names, entries, gone, forgotten, again = {}, {}, {}, {}, {}
for i = 2, #ARGV, 3 do names[#names + 1] = ARGV[i] end

-- report_again makes the counts of a batch due at an instant.
local function report_again(batch, at) again[#again + 1], again[#again + 2] = whole(at), batch end
redis.call('ZCARD', REPORTS)
for i, text in ipairs(redis.call('HMGET', BATCHES, unpack(names))) do
  local c, unknown, forgets = counts_of(text), ARGV[3 * i + 1] == '1', false
  local same, left, changed = whole(c.version) == ARGV[3 * i], members_left(c) > 0, math.floor(c.version / 1000)
  if c.absent then
    gone[#gone + 1] = names[i]
  elseif not same then
    c.told = now_ms
    report_again(names[i], report_at(c, false))
  elseif left or not unknown and now_ms - changed < AGAIN_MS then
    report_again(names[i], now_ms + AGAIN_MS)
  elseif not unknown then
    report_again(names[i], changed + DAY_MS * math.floor((now_ms - changed) / DAY_MS + 1))
  else -- a repeated EnqueueBatch may create it again: until then the counts prevent that its items are added twice
    local at = math.min(changed, now_ms) + tonumber(ARGV[1])
    forgets = at <= now_ms
    if forgets then forgotten[#forgotten + 1] = names[i] else report_again(names[i], at) end
  end
  if not c.absent and not forgets then
    c.told = now_ms
    entries[#entries + 1], entries[#entries + 2] = names[i], counts_text(c)
  end
end
redis.call('ZREM', REPORTS, '', unpack(gone)) -- the first write needs no memory
if #forgotten > 0 then
  redis.call('HDEL', BATCHES, unpack(forgotten))
  redis.call('ZREM', REPORTS, unpack(forgotten))
end
if #entries > 0 then redis.call('HSET', BATCHES, unpack(entries)) end
if #again > 0 then redis.call('ZADD', REPORTS, unpack(again)) end
save_head(BATCHES, REPORTS, STATE)
return { whole(now_us), #forgotten }
