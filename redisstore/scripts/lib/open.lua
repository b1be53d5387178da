-- open: an entry of …:open, the occurrence of a schedule that was begun last and has not ended:
-- "<occurrence>|<fence>|<worker>|<occurrence parked behind it>"; fence 0: it came back and is not in flight.

-- opened returns the four parts of an entry; of none it returns nothing.
local function opened(entry)
  if entry then return string.match(entry, '^([^|]*)|([^|]*)|([^|]*)|([^|]*)$') end
end
