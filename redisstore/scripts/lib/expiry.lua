-- expiry: the instant at which a job expires, in its envelope. The envelope of such a job has the version EXPIRING, and its last 8 bytes are the
-- instant, Unix ms (see the Go package wire). With the version before EXPIRING the instant has no effect. Both versions have 16 more in a sealed envelope.
local EXPIRING = 2

-- is_expiring reports whether an envelope has such an instant.
local function is_expiring(body)
  local version = string.byte(body, 1)
  return version == EXPIRING or version == EXPIRING + 16
end

-- expires_at returns an envelope of this version with another instant; another envelope unchanged.
local function expires_at(body, ms)
  if not is_expiring(body) then return body end
  local bytes, left = {}, math.floor(ms)
  for i = 8, 1, -1 do bytes[i], left = left % 256, math.floor(left / 256) end
  return string.sub(body, 1, -9) .. string.char(unpack(bytes))
end

-- expires_never returns an envelope that does not expire; nil if it does not expire anyway.
local function expires_never(body)
  return body and is_expiring(body) and string.char(string.byte(body, 1) - 1) .. string.sub(body, 2) or nil
end
