-- parked: jobs that no worker at hand could handle, in a list for each name.
-- needs: clock
-- The sorted set unhandled has the names that have a list -> since when at most its oldest job is parked, Unix ms. Beyond MAX_PARKED
-- names the others share the list of SHARED, whose members are "<name>\t<job ID>". The field parked of …:state is there while any
-- list is, and changes whenever one begins or the shared one grows: who has seen its value need not look for a list again.
local MAX_PARKED = 1000
local SHARED = '*'

-- parked_mark returns another value for the field parked than the present one.
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

-- unlist removes a name without parked jobs from unhandled; with the last one the field parked of state goes. Returns whether it went.
local function unlist(unhandled, state, name)
  redis.call('ZREM', unhandled, name)
  -- read after write: what is left of it is known only now
  if redis.call('ZCARD', unhandled) > 0 then return false end
  redis.call('HDEL', state, 'parked')
  return true
end
