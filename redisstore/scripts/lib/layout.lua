-- layout: the version of the keys' layout that these scripts know; a partition written by a newer one is left alone. A script that raises
-- the layout closes the gate (lib/gate.lua) as well: enqueue_one.lua does not read the layout.
local LAYOUT = '2'

-- newer returns the error to answer if the layout of a partition, the field layout of …:state, is newer; else nothing. What is no
-- version counts as none.
local function newer(layout)
  if not layout or layout == LAYOUT then return end
  local version = tonumber(layout)
  if version and version > tonumber(LAYOUT) and version < 1e6 then
    return redis.error_reply('CHIMELAYOUT the keys have layout ' .. layout .. ', this program knows ' .. LAYOUT .. ': upgrade it')
  end
end
