-- instant: instants as text, 2026-03-08T09:00:00Z, which sort in the order of time.

-- instant returns the text of a Unix second.
local function instant(s)
  local days = math.floor(s / 86400)
  local rest = s - days * 86400
  local z = days + 719468
  local era = math.floor(z / 146097)
  local doe = z - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local mp = math.floor((5 * doy + 2) / 153)
  local day = doy - math.floor((153 * mp + 2) / 5) + 1
  local month = mp < 10 and mp + 3 or mp - 9
  local year = yoe + era * 400 + (month <= 2 and 1 or 0)
  return string.format('%04d-%02d-%02dT%02d:%02d:%02dZ', year, month, day,
    math.floor(rest / 3600), math.floor(rest / 60) % 60, rest % 60)
end

-- instant_ms returns the text of a Unix millisecond.
local function instant_ms(ms)
  return string.sub(instant(math.floor(ms / 1000)), 1, 19) .. string.format('.%03dZ', ms % 1000)
end
