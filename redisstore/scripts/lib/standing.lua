-- standing: a cursor as far as it can be read.
-- needs: definition

-- readable returns what cursor returns; of a text that no script writes: nothing.
local function readable(text)
  local at, used, kind = cursor(text)
  if at and string.find(at, '^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%dZ$') and (kind == 's' or is_placed(kind)) then return at, used, kind end
end
