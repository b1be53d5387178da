-- counters: the fields of …:counters; a test compares them with the Go code.

-- Those of the partition; all but RETRIED and EXPIRED are a schedule's as well, and SKIPPED and MISSED, below, the partition's:
local FAILED, RETRIED, DIED, CANCELLED, EXPIRED = '/failed', '/retried', '/died', '/cancelled', '/expired'

-- Those of a schedule have its name in front:
local STARTED, SKIPPED, MISSED, CAUGHT_UP, SUPERSEDED, DONE = '/started', '/skipped', '/missed', '/caught_up', '/superseded', '/done'

-- counters_of returns all fields of the schedule name, one value each.
local function counters_of(name)
  return name .. STARTED, name .. SKIPPED, name .. MISSED, name .. CAUGHT_UP, name .. SUPERSEDED, name .. CANCELLED,
    name .. DONE, name .. FAILED, name .. DIED, name .. '/full' -- see the piece unfinished
end
local CAUGHT_UP_AT = 4 -- which of them is CAUGHT_UP
