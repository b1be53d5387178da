-- layout: the version of the keys' layout that these scripts know; they do not change a partition that was written by a newer one. A script that
-- raises the layout must also close the gate (lib/gate.lua) if enqueue_one.lua would be wrong there: it does not read the layout.
local LAYOUT = '2'

-- RAISED is the layout of a partition that had something which a program of LAYOUT would misread or ignore: the ID of a cancelled job in
-- …:stale, a fence with "!" or "+" before it, a mark in place of an occurrence's envelope, or the limit of a queue.
-- The script that writes the first of them raises the layout in the same step, and the layout remains; every other partition keeps LAYOUT
-- and has nothing that LAYOUT does not know. Cancellations do not close the gate: enqueue_one.lua only adds jobs of new IDs, which
-- cannot have been cancelled.
local RAISED = '3'

-- newer returns the error to answer if the layout of a partition, the field layout of …:state, is newer; else nothing. An invalid
-- version is ignored.
local function newer(layout)
  if not layout or layout == LAYOUT then return end
  local version = tonumber(layout)
  if version and version > tonumber(RAISED) and version < 1e6 then
    return redis.error_reply('CHIMELAYOUT the keys have layout ' .. layout .. ', this program knows ' .. RAISED .. ': upgrade it')
  end
end
