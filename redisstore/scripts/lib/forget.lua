-- forget: what is kept under the IDs of jobs that were deleted or cancelled: they may be added again at once, and a result that an earlier job
-- of that ID has left would be taken for theirs.

-- forget_ids removes that. once, results, kept: the keys.
local function forget_ids(ids, once, results, kept)
  if #ids == 0 then return end
  redis.call('ZREM', once, unpack(ids))
  redis.call('HDEL', results, unpack(ids))
  redis.call('ZREM', kept, unpack(ids))
end
