-- entry: the form of an entry of places, see the piece line.
-- needs: strings

-- is_entry reports whether a text is "<place of 16 digits> <group>".
local function is_entry(text)
  return match(text, '^%d+ [^\t]+$') ~= nil and find(text, ' ', 1, true) == 17
end
