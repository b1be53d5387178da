-- layout: the versions of the keys' layout that these scripts know; a partition written by a newer one is left alone. Most of what they
-- write is of layout BASE. What a version that knows BASE only would misread or not obey, the limit of a queue, raises the layout in the
-- step that writes it; it stays raised. A script that raises the layout closes the gate (lib/gate.lua) as well, for as long as an older
-- version would do harm by adding a job: enqueue_one.lua does not read the layout.
local BASE = '2'
local LAYOUT = '3'

-- newer returns the error to answer if the layout of a partition, the field layout of …:state, is newer; else nothing. What is no
-- version counts as none.
local function newer(layout)
  if not layout or layout == BASE or layout == LAYOUT then return end
  local version = tonumber(layout)
  if version and version > tonumber(LAYOUT) and version < 1e6 then
    return redis.error_reply('CHIMELAYOUT the keys have layout ' .. layout .. ', this program knows ' .. LAYOUT .. ': upgrade it')
  end
end
