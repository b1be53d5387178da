-- rule: the recurrence in a definition.

-- rule returns the text of the recurrence in the rest of a definition: it comes before anything that users may choose freely. nil: this
-- version did not write the rest.
local function rule(rest)
  return string.match(rest, '"recurrence":(.-),"misfire":"')
end
