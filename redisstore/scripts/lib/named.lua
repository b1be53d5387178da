-- named: the name of a job. It is a piece of its own, which needs no other one: work.lua reads the names of many jobs.

-- name_in returns the job name in an envelope (see the piece envelope), sealed or not, and where it ends; nil: it cannot be read.
local function name_in(body)
  local version, _, kind, width = string.byte(body, 1, 4)
  if version ~= 1 and version ~= 2 and version ~= 17 and version ~= 18 or not width then return nil end
  if kind == 0xd9 then return string.sub(body, 5, 4 + width), 4 + width end
  if kind > 0xa0 and kind < 0xc0 then return string.sub(body, 4, kind - 0x9d), kind - 0x9d end
end
