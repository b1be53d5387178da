-- seconds: reads the instants that the piece instant writes.

-- seconds returns the Unix second of an instant's text, and nothing for another text.
local function seconds(text)
  local year, month, day, hour, minute, second = string.match(text or '', '^(%d%d%d%d)-(%d%d)-(%d%d)T(%d%d):(%d%d):(%d%d)')
  if not year then return nil end
  year, month = tonumber(year), tonumber(month)
  if month <= 2 then year, month = year - 1, month + 12 end -- a year begins in March
  local days = 365 * year + math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400) + math.floor((153 * month - 457) / 5) + day - 719469
  return days * 86400 + hour * 3600 + minute * 60 + second
end
