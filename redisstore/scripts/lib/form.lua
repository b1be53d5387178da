-- form: the version of what the program has written into a definition.
-- needs: definition

-- has_newer_form says of a definition that head has taken apart whether its form is newer than a caller can read; 0: the caller reads any.
local function has_newer_form(h, known)
  local form = string.match(h.rest, '^"version":(%d+)[,}]')
  return form ~= nil and tonumber(known) > 0 and tonumber(form) > tonumber(known)
end
