-- layout: the version of the keys' layout that these scripts know; a partition written by a newer one is left alone. A script that raises
-- the layout closes the gate (lib/gate.lua) as well if what enqueue_one.lua does would be wrong there: it does not read the layout.
local LAYOUT = '2'

-- RAISED is the layout of a partition in which something has stood that a program of LAYOUT would misread: the ID of a cancelled job in
-- …:stale, a fence with "!" or "+" before it, a mark in place of an occurrence's envelope; or not obey: the
-- limit of a queue. The script that writes the first of them raises the
-- layout in the same step, and it stays; every other partition keeps LAYOUT, and what is read there in addition is nothing. For
-- cancellations the gate stays open: enqueue_one.lua adds jobs of new IDs only, which nobody has cancelled.
local RAISED = '3'

-- newer returns the error to answer if the layout of a partition, the field layout of …:state, is newer; else nothing. What is no
-- version counts as none.
local function newer(layout)
  if not layout or layout == LAYOUT then return end
  local version = tonumber(layout)
  if version and version > tonumber(RAISED) and version < 1e6 then
    return redis.error_reply('CHIMELAYOUT the keys have layout ' .. layout .. ', this program knows ' .. RAISED .. ': upgrade it')
  end
end
