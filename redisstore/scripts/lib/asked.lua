-- asked: the field asked of …:state, how many jobs in flight were cancelled but not settled: their holders were notified. If
-- it is missing, heartbeats do not search for such jobs.
-- needs: clock

-- add_asked adds n to the field asked of state, whose present value is asked; at 0 it is removed.
local function add_asked(state, asked, n)
  local count = (tonumber(asked or 0) or 0) + n
  if count > 0 and count < 1e9 then redis.call('HSET', state, 'asked', whole(count)) else redis.call('HDEL', state, 'asked') end
end
