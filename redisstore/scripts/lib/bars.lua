-- bars: whether the caught-up runs of a schedule must wait.
-- needs: open

-- bars reports for an entry of …:open whether a caught-up run must wait for the end of a flight. It must wait for the flight that holds the
-- schedule, unless that flight yields and no new occurrence waits behind it.
local function bars(entry)
  local _, _, _, _, letter, fresh = opened(entry)
  return is_held(entry) and not (yields(letter) and fresh == '')
end
