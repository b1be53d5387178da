-- expiry: the instant at which a job expires, in its envelope. The envelope of such a job has the version EXPIRING, and its last 8 bytes are the
-- instant, Unix ms (see the Go package wire). With the version before EXPIRING the instant has no effect.
local EXPIRING = 2

-- expires_at returns an envelope of this version with another instant; another envelope unchanged.
local function expires_at(body, ms)
  if string.byte(body, 1) ~= EXPIRING then return body end
  local bytes, left = {}, math.floor(ms)
  for i = 8, 1, -1 do bytes[i], left = left % 256, math.floor(left / 256) end
  return string.sub(body, 1, -9) .. string.char(unpack(bytes))
end

-- expires_never returns an envelope that does not expire; nil if it does not expire anyway.
local function expires_never(body)
  return body and string.byte(body, 1) == EXPIRING and string.char(EXPIRING - 1) .. string.sub(body, 2) or nil
end
