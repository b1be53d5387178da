-- form: the version of the program's part of a definition.
-- needs: definition

-- has_newer_form reports whether the form of a parsed definition is newer than a caller can read; 0: the caller reads any form.
local function has_newer_form(h, known)
  local form = string.match(h.rest, '^"version":(%d+)[,}]')
  return form ~= nil and tonumber(known) > 0 and tonumber(form) > tonumber(known)
end
