-- count_batch.lua: return the counts of a batch in a partition, and change what the partition takes of it.
-- Model: LOOK in models/batch.pml.
-- KEYS[1] …:state    hash  layout, batches, revoked
-- KEYS[2] …:batches  hash  batch -> its counts, see lib/members.lua
-- KEYS[3] …:reports  zset  batch -> instant from which its counts are to be reported, Unix ms
-- KEYS[4] …:callers  zset  tokens of calls that have added a job, or must not, see lib/callers.lua
-- ARGV[1] the batch; ARGV[2] a version: with a lower one the partition has gone back to an earlier state, and gets a higher one; ARGV[3] letters: c no item is
-- taken any more, x nothing is added any more, e the batch has ended, f its counts are removed; ARGV[4] a token that must not add a job any more; empty: none
-- Returns time (us); the counts, as in …:batches.
local STATE, BATCHES, REPORTS, CALLERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local batch, above, letters, token = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
-- uses: callers clock layout members
local layout = redis.call('HGET', STATE, 'layout')
local refusal = newer(layout)
if refusal then return refusal end
local c = counts_of(redis.call('HGET', BATCHES, batch))
local due, used = redis.call('ZMSCORE', REPORTS, batch)[1], token ~= '' and redis.call('ZMSCORE', CALLERS, token)[1]
local flags, was = c.flags, is_revoked(c)
for letter in string.gmatch(letters, '[cxe]') do
  if not string.find(flags, letter, 1, true) and not (letter == 'e' and c.absent) then flags = (flags == '-' and '' or flags) .. letter end
end
redis.call('ZREM', REPORTS, '') -- makes the other writes possible when the server is out of memory
if token ~= '' and not used then redis.call('ZADD', CALLERS, whole(now_s * ROUND + 2), token) end -- a later call with the number 1 is refused
if string.find(letters, 'f', 1, true) then
  if not c.absent then
    redis.call('HDEL', BATCHES, batch)
    redis.call('ZREM', REPORTS, batch)
    if was then save_revoked(STATE, -1, 0) end
    save_head(BATCHES, REPORTS, STATE)
  end
  return { whole(now_us), counts_text(c) }
end
if flags ~= c.flags or c.version < above then
  c.flags, c.version = flags, math.max(c.version + 1, above + 1, now_us)
  redis.call('HSET', BATCHES, batch, counts_text(c))
  redis.call('ZADD', REPORTS, whole(report_at(c, due)), batch)
  save_head(BATCHES, REPORTS, STATE)
  if layout and layout ~= LAYOUT then redis.call('HSET', STATE, 'layout', LAYOUT) end
end
if is_revoked(c) then save_revoked(STATE, was and 0 or 1, 1) end
return { whole(now_us), counts_text(c) }
