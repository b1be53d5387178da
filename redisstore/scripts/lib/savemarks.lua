-- savemarks: write what the piece mark has gathered.

-- save_marks removes what was cancelled (void), removes the second entry in ready of what was enqueued again (stale), and writes its
-- envelope without the mark (restored). crashed says whether …:crashes holds anything.
local function save_marks(marks, ready, jobs, crashes, crashed)
  for _, id in ipairs(marks.stale) do redis.call('LREM', ready, 1, id) end
  if #marks.restored > 0 then redis.call('HSET', jobs, unpack(marks.restored)) end
  if #marks.void > 0 then
    redis.call('HDEL', jobs, unpack(marks.void))
    if crashed then redis.call('HDEL', crashes, unpack(marks.void)) end
  end
end
