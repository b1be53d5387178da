-- note_pruned.lua: record that the pruning of an owner's version is complete, unless a higher version's is recorded, and remove old records among
-- some random ones. A call adds one record and looks at up to 500, so at most about n/500 of n records are old.
-- KEYS[1] …:pruned  hash  owner -> "<version> <Unix ms>"
-- ARGV[1] owner; ARGV[2] version; ARGV[3] how long a record is kept, ms
-- Returns 1 if it was recorded, 0 if a higher version is.
-- uses: limits clock owner
local owner, version = ARGV[1], ARGV[2]
local old, at = {}, nil
local record = redis.call('HGET', KEYS[1], owner)
local known = string.match(record or '', '^(%d+) %d+$')
local page = redis.call('HRANDFIELD', KEYS[1], MAX_ITEMS, 'WITHVALUES')
for i = 1, #page, 2 do
  at = tonumber(string.match(page[i + 1], '^%d+ (%d+)$') or 0)
  if page[i] ~= owner and at < now_ms - tonumber(ARGV[3]) then old[#old + 1] = page[i] end
end
if #old > 0 then redis.call('HDEL', KEYS[1], unpack(old)) end
if known and is_lower(version, known) then return 0 end
redis.call('HSET', KEYS[1], owner, version .. ' ' .. whole(now_ms))
return 1
