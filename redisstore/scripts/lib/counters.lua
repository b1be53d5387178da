-- counters: the fields of …:counters; a test holds them against the Go code.

-- Those of the partition:
local FAILED, RETRIED, DIED = '/failed', '/retried', '/died'

-- Those of a schedule have its name in front:
local STARTED, SKIPPED, MISSED, CAUGHT_UP, SUPERSEDED = '/started', '/skipped', '/missed', '/caught_up', '/superseded'

-- counters_of returns all fields of the schedule name, one value each.
local function counters_of(name)
  return name .. STARTED, name .. SKIPPED, name .. MISSED, name .. CAUGHT_UP, name .. SUPERSEDED
end
local CAUGHT_UP_AT = 4 -- which of them is CAUGHT_UP
