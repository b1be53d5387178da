-- verify_records.lua: list the records that are kept for jobs, a page at a time; for results also the faults, which it repairs if requested.
-- KEYS[1] …:results   hash  job ID -> its result
-- KEYS[2] …:kept      zset  job ID -> until when its result is kept, Unix ms
-- KEYS[3] …:after     hash  job ID -> what follows its flight, see lib/after.lua
-- KEYS[4] …:progress  hash  job ID -> its progress
-- KEYS[5] …:stale     zset  IDs in ready that are void -> since when, Unix ms
-- KEYS[6] …:state     hash  layout
-- ARGV[1] results: those that would never be removed; kept: instants without a result; after, progress, stale: IDs; ARGV[2] the position in the
-- list, as the last call answered; 0 begins; empty: no list, but ARGV[3...], IDs to repair: a result is kept for a day, an instant without one is removed
-- Returns the new position, 0 at the end; how many it has read; the IDs.
local RESULTS, KEPT, AFTER, PROGRESS, STALE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local DAY_MS = 86400000
local COUNT = 50 -- of entries that may be long
local what, at = ARGV[1], ARGV[2]
-- uses: limits clock layout
local refusal = newer(redis.call('HGET', KEYS[6], 'layout'))
if refusal then return refusal end
local page, step = { '0', {} }, 2
if at == '' then
  step = 1
  for i = 3, #ARGV do page[2][i - 2] = ARGV[i] end
elseif what == 'results' then
  page = redis.call('HSCAN', RESULTS, at, 'COUNT', COUNT)
elseif what == 'kept' then
  page = redis.call('ZSCAN', KEPT, at, 'COUNT', MAX_ITEMS)
elseif what == 'after' then
  page = redis.call('HSCAN', AFTER, at, 'COUNT', COUNT)
elseif what == 'progress' then
  page = redis.call('HSCAN', PROGRESS, at, 'COUNT', COUNT)
else
  page = redis.call('ZSCAN', STALE, at, 'COUNT', MAX_ITEMS)
end
local ids, looked = {}, 0
for i = 1, #page[2], step do
  local id, wrong = page[2][i], true
  looked = looked + 1
  if what == 'results' then
    local kept = redis.call('ZSCORE', KEPT, id)
    wrong = redis.call('HEXISTS', RESULTS, id) == 1 and kept == false -- gopher-lua gets "not kept and …" wrong here
  elseif what == 'kept' then
    wrong = redis.call('HEXISTS', RESULTS, id) == 0 and redis.call('ZSCORE', KEPT, id)
  end
  if wrong then ids[#ids + 1] = id end
end
if at == '' and what == 'results' then
  for _, id in ipairs(ids) do redis.call('ZADD', KEPT, whole(now_ms + DAY_MS), id) end
elseif at == '' and what == 'kept' and #ids > 0 then
  redis.call('ZREM', KEPT, unpack(ids))
end
return { page[1], looked, ids }
