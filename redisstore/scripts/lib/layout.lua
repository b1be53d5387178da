-- layout: the version of the keys' layout that these scripts know; a partition written by a newer one is left alone.
local LAYOUT = '1'
local function newer(layout)
  if layout and layout ~= LAYOUT and tonumber(layout) > tonumber(LAYOUT) then
    return redis.error_reply('CHIMELAYOUT the keys have layout ' .. layout .. ', this program knows 1: upgrade it')
  end
end
