-- follower: the job that follows the end of another one, which is its OnDone or its OnDeath.
-- needs: strings clock

-- Its ID is that of the root of its chain, up to the first "#" behind the first byte, then "#done-" or "#dead-", the fence under which the job
-- before it ended, a dot, and how many ends come before it in the chain. So all IDs of a chain are about as long as that of its root, and are in
-- its partition (see PartitionOf of the Go package protocol). What follows the death of a root has the whole ID of the root, and no dot. The fence
-- makes the ID unique: each flight ends once, and has a fence of its own.

-- follower_id returns the ID of the job that follows the end of the job id. how: done or dead; fence: as text; schedule: that of the job; nil: it has none.
-- The name of a schedule may contain "#", and is not cut.
local function follower_id(id, how, fence, schedule)
  local at = find(id, '#', 2, true)
  if not at then return id .. '#' .. how .. '-' .. fence .. (how == 'dead' and '' or '.1') end -- most jobs are roots
  local before = match(id, '#done%-%d+%.(%d%d?)$') or match(id, '#dead%-%d+%.(%d%d?)$') or find(id, '#dead%-%d+$') and '1' or '0'
  if how == 'dead' and before == '0' then return id .. '#dead-' .. fence end
  if schedule and sub(id, 1, #schedule) == schedule then at = find(id, '#', math.max(2, #schedule + 1), true) end
  return (at and sub(id, 1, at - 1) or id) .. '#' .. how .. '-' .. fence .. '.' .. whole(before + 1)
end
