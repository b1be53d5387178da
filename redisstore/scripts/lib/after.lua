-- after: what follows a job in flight, for it was replaced while it was held.

-- The hash after has job ID -> "<instant it is due, Unix ms> <envelope>"; the fence of the job has "+" before it, and stays in the same
-- hash …:inflight. Both are written by replace.lua. Whoever ends the flight, by whatever settlement or by reaping, takes both away in the
-- same step and enqueues the job anew with this envelope: so there is an entry in after if and only if a fence has this sign. A job that
-- is cancelled loses its entry, and has the sign "!" instead.

-- after_of returns the instant and the envelope of an entry; nil: it is none.
local function after_of(text)
  local at = text and string.find(text, ' ', 1, true)
  local due_ms = at and tonumber(string.sub(text, 1, at - 1))
  if due_ms then return due_ms, string.sub(text, at + 1) end
end
