-- parked: jobs that the available workers could not handle, in a list for each name.
-- needs: clock
-- The sorted set unhandled has the names that have a list -> instant since which its oldest job is parked, or later. Beyond MAX_PARKED
-- names the others share the list of SHARED, whose members are "<name>\t<job ID>". The field parked of …:state exists while any
-- list does, and changes whenever one begins or the shared one grows: a worker that has read its value need not search for a list again.
local MAX_PARKED = 1000
local SHARED = '*'

-- parked_mark returns a new value for the field parked, different from the present one.
local function parked_mark(present)
  local last = tonumber(present or 0)
  if not (last and last > 0 and last < 2 ^ 53 - 1) then last = 0 end -- a layout before this one kept names in it
  return whole(math.max(last + 1, now_us))
end

-- adopt_names writes the names that a layout before this one kept in the field parked of state into the sorted set unhandled.
local function adopt_names(unhandled, text)
  local names = {}
  for name in string.gmatch(text, '%S+') do
    if #names < 2000 and #name <= 100 then
      names[#names + 1] = '1'
      names[#names + 1] = name
    end
  end
  if #names > 0 then redis.call('ZADD', unhandled, unpack(names)) end
end

-- unlist removes a name without parked jobs from unhandled; with the last one it removes the field parked of state. Returns whether it did.
local function unlist(unhandled, state, name)
  redis.call('ZREM', unhandled, name)
  -- read after write: the rest of it is known only now
  if redis.call('ZCARD', unhandled) > 0 then return false end
  redis.call('HDEL', state, 'parked')
  return true
end
