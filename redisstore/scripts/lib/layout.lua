-- layout: the version of the keys' layout that these scripts know; they do not change a partition that was written by a newer one. A script that
-- raises the layout must also close the gate (lib/gate.lua) if enqueue_one.lua would be wrong there: it does not read the layout.
local LAYOUT = '6'

-- newer returns the error to answer if the layout of a partition, the field layout of …:state, is newer; else nothing. An invalid
-- version is ignored.
local function newer(layout)
  if not layout or layout == LAYOUT then return end
  local version = tonumber(layout)
  if version and version > tonumber(LAYOUT) and version < 1e6 then
    return redis.error_reply('CHIMELAYOUT the keys have layout ' .. layout .. ', this program knows ' .. LAYOUT .. ': upgrade it')
  end
end
