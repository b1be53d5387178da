-- bars: whether what a schedule catches up has to wait.
-- needs: open

-- bars says of an entry of …:open whether what is caught up is to wait for the end of a flight: of the one that holds the schedule, unless that
-- yields and no new occurrence waits behind it.
local function bars(entry)
  local _, _, _, _, letter, fresh = opened(entry)
  return is_held(entry) and not (yields(letter) and fresh == '')
end
