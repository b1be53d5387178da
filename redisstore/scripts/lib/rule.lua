-- rule: the recurrence in a definition.

-- rule returns the text of the recurrence in the rest of a definition: it stands before anything that users may choose freely. nil: the
-- rest is none that this version writes.
local function rule(rest)
  return string.match(rest, '"recurrence":(.-),"misfire":"')
end
