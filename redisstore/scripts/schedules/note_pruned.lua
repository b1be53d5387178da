-- note_pruned.lua: record that the pruning of an owner's version is complete, unless a higher version's is recorded, or that the pruning of a schedule
-- begins that was created ahead of the clock. The instant of the record never goes back: it is later than the creation of every schedule that was
-- pruned, so that a copy that comes back is dead, whichever process completes the pruning. The script also removes old records among some random
-- ones. A call adds one record and looks at up to 500, so at most about n/500 of n records are old.
-- KEYS[1] …:pruned  hash  owner -> "<version> <Unix ms>"; version 0: no pruning is complete
-- ARGV[1] owner; ARGV[2] version; 0: none is complete; ARGV[3] how long a record is kept, ms; ARGV[4] the instant to record, Unix ms; 0: now
-- Returns 1 if the version was recorded, 0 if a higher one is.
-- uses: limits clock owner
local owner, version, at_ms = ARGV[1], ARGV[2], tonumber(ARGV[4])
if at_ms == 0 then at_ms = now_ms + 1 end -- later than what was created in this millisecond
local old = {}
local record = redis.call('HGET', KEYS[1], owner)
local known, known_ms = string.match(record or '', '^(%d+) (%d+)$')
local page = redis.call('HRANDFIELD', KEYS[1], MAX_ITEMS, 'WITHVALUES')
for i = 1, #page, 2 do
  local written_ms = tonumber(string.match(page[i + 1], '^%d+ (%d+)$') or 0)
  if page[i] ~= owner and written_ms < now_ms - tonumber(ARGV[3]) then old[#old + 1] = page[i] end
end
if #old > 0 then redis.call('HDEL', KEYS[1], unpack(old)) end
local lower = known and is_lower(version, known)
if lower and (version ~= '0' or at_ms <= tonumber(known_ms)) then return 0 end
redis.call('HSET', KEYS[1], owner, (lower and known or version) .. ' ' .. whole(math.max(at_ms, tonumber(known_ms or 0))))
return lower and 0 or 1
