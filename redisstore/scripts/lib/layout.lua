-- layout: the version of the keys' layout that these scripts know; a partition written by a newer one is left alone.
local LAYOUT = '2'

-- newer returns the error to answer if the layout of a partition, the field layout of …:state, is newer; else nothing.
local function newer(layout)
  if layout and layout ~= LAYOUT and tonumber(layout) > tonumber(LAYOUT) then
    return redis.error_reply('CHIMELAYOUT the keys have layout ' .. layout .. ', this program knows ' .. LAYOUT .. ': upgrade it')
  end
end
