-- standing: a readable cursor.
-- needs: definition

-- readable returns what cursor returns, or nothing for a text that no script writes.
local function readable(text)
  local at, used, kind = cursor(text)
  if at and string.find(at, '^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%dZ$') and (kind == 's' or is_placed(kind)) then return at, used, kind end
end
