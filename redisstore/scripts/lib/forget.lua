-- forget: the records under the IDs of jobs that were deleted or cancelled: these may be added again at once, and a result of an earlier job
-- of that ID would be mistaken for theirs.

-- forget_ids removes these records. once, results, kept: the keys.
local function forget_ids(ids, once, results, kept)
  if #ids == 0 then return end
  redis.call('ZREM', once, unpack(ids))
  redis.call('HDEL', results, unpack(ids))
  redis.call('ZREM', kept, unpack(ids))
end
